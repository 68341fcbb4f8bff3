"""A service in a control group with low weight: its batch program still ranks below it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.colocation import batch, place, remembered
from aferir.colocation.applying import Machine
from aferir.colocation.privileges import findings
from aferir.colocation.service import ServiceSpec
from aferir.linux import cgroup, journal, process
from benchmarks.colocation.kill import groups_everywhere
from tests.integration.support import own_state

_HAVE = cgroup.layout()
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()) or not _HAVE.has("cpu"),
        reason="takes root, and the cpu controller of either version",
    ),
]
_FIRST = "cpu" in _HAVE.v1
"""Whether the cpu controller is of version 1."""
_ROOT = _HAVE.v1.get("cpu") or _HAVE.v2 or Path()
_KEY, _LINE = ("cpu", ":cpu:") if _FIRST else ("unified", "^0::")
"""Key of the group's folder, and the line of /proc/PID/cgroup that names it."""
_FILE, _OF_A_PROCESS = ("cpu.shares", 1024) if _FIRST else ("cpu.weight", 100)
"""File of a group's weight, and the weight of one process of nice 0 in it."""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def low() -> Iterator[Path]:
    """A control group with a twentieth of the usual weight."""
    name = f"aferir-test-{uuid.uuid4().hex[:8]}"
    if not _FIRST:
        cgroup.delegate(_ROOT, "cpu")
    folder = _ROOT / name
    folder.mkdir()
    (folder / _FILE).write_text(str(_OF_A_PROCESS // 20))
    yield folder
    cgroup.remove(name, _HAVE)


def _started(script: str, low: Path) -> subprocess.Popen[str]:
    """A service in that group; in one within it, where version 2 has no processes beside groups."""
    child = process.start(["sh", "-c", script])
    group = low if _FIRST else low / "served"
    group.mkdir(exist_ok=True)
    (group / "cgroup.procs").write_text(str(child.pid))
    return child


def _of(pid: int) -> ServiceSpec:
    return ServiceSpec("pid", str(pid))


def test_a_service_of_little_weight_is_not_outweighed_by_its_batch(low: Path) -> None:
    """At the root the batch program would have twenty times as much; below it shares its weight."""
    served = _started("exec sleep 1000", low)
    entry = journal.write(remembered.KIND, {})
    machine = Machine(entry, place.beside([(_of(served.pid), (served.pid,))], _HAVE))
    assert machine.group.folders[_KEY].parent == low
    own = int((machine.group.folders[_KEY] / _FILE).read_text())
    assert own <= _OF_A_PROCESS
    assert remembered.undo(entry) == []
    process.end(served)
    assert groups_everywhere({machine.group.name}) == []


def test_clean_finds_the_group_within_the_services(low: Path) -> None:
    served = _started("exec sleep 1000", low)
    code = (
        "import os\n"
        "from aferir.linux import journal\n"
        "from aferir.colocation import place, remembered\n"
        "from aferir.colocation.applying import Machine\n"
        "from aferir.colocation.service import ServiceSpec\n"
        "from aferir.linux import cgroup\n"
        f"spec = ServiceSpec('pid', '{served.pid}')\n"
        f"where = place.beside([(spec, ({served.pid},))], cgroup.layout())\n"
        "machine = Machine(journal.write(remembered.KIND, {}), where)\n"
        "print(machine.group.name, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = process.run([sys.executable, "-c", code], check=False)
    name = done.stdout.strip()
    assert low / name in groups_everywhere({name})
    assert main(["clean"]) == 0
    assert groups_everywhere({name, f"{name}-dying"}) == []
    assert low.is_dir()
    assert served.poll() is None
    process.end(served)


def test_a_run_has_its_batch_there_and_leaves_nothing(low: Path, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    served = _started("exec sleep 1000", low)
    words = ["--service", f"pid:{served.pid}", "--sla", "p95=200ms", "--threads", "."]
    words += ["--latency", f"json:{tmp_path / 'log'}#t", "--json"]
    run = [sys.executable, "-m", "aferir", "colocate", *words, "--"]
    done = process.run([*run, "grep", _LINE, "/proc/self/cgroup"])
    found = done.stderr.strip().rpartition(":")[2]
    assert found.startswith(f"/{low.name}/aferir-")
    assert json.loads(done.stdout)["problems"] == []
    assert groups_everywhere({Path(found).name}) == []
    assert [path.name for path in low.glob("aferir-*")] == []
    os.kill(served.pid, signal.SIGKILL)
    process.end(served)


def test_a_unit_that_is_low_itself_is_told_of(low: Path) -> None:
    served = _started("exec sleep 1000", low)
    (low / _FILE).write_text(str(_OF_A_PROCESS // 2))
    named = place.beside([(ServiceSpec("cgroup", low.name), (served.pid,))], _HAVE)
    assert named == place.Place(parent=_ROOT, share=0.5)
    (low / "cpu.idle").write_text("1")
    named = place.beside([(ServiceSpec("cgroup", low.name), (served.pid,))], _HAVE)
    assert named is not None
    assert named.low == low
    told = [finding for finding in findings(named) if finding.subject == "cgroups"]
    assert [finding.status for finding in told] == ["degraded"]
    process.end(served)


@pytest.mark.skipif(not _HAVE.has("cpuset"), reason="no cpuset controller")
def test_a_batch_stays_on_the_cpus_that_aferir_itself_may_use() -> None:
    mine = os.sched_getaffinity(0)
    entry = journal.write(remembered.KIND, {})
    os.sched_setaffinity(0, {min(mine)})
    try:
        machine = Machine(entry)
        allowed = (
            (machine.group.folders[batch.held_by(machine.group)] / "cpuset.cpus")
            .read_text()
            .strip()
        )
        assert allowed == str(min(mine))
    finally:
        os.sched_setaffinity(0, mine)
        assert remembered.undo(entry) == []
