"""The batch program as a transient unit, if systemd owns the control groups of version 2.

`test_unified.py` runs these in a guest; on a machine of that kind they run as they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.colocation import remembered, transient
from aferir.colocation.applying import Machine
from aferir.colocation.privileges import findings
from aferir.colocation.settings import Batch, Settings
from aferir.linux import cgroup, journal, process
from tests.integration.support import own_state
from tests.waiting import eventually

_HAVE = cgroup.layout()
_ROOT = _HAVE.v2 or Path()
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings())
        or "cpu" not in _HAVE.v2_controllers
        or not transient.owns(_ROOT, _ROOT),
        reason="takes root, systemd, and control groups of version 2",
    ),
]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def served() -> Iterator[str]:
    """A service of systemd, in a slice of a twentieth of the usual weight."""
    name = f"aferir-test-{uuid.uuid4().hex[:8]}"
    process.run(["systemctl", "set-property", "--runtime", "low.slice", "CPUWeight=5"])
    words = ["systemd-run", f"--unit={name}", "--slice=low.slice", "--collect"]
    process.run([*words, "--property=DefaultDependencies=no", "sleep", "1000"])
    yield name
    process.run(["systemctl", "stop", name])


def words_of(served: str, folder: Path, *batch: str) -> list[str]:
    (folder / "log").touch()
    run = [sys.executable, "-m", "aferir", "colocate", "--service", f"unit:{served}", "--json"]
    return [*run, "--sla", "p95=200ms", "--latency", f"json:{folder / 'log'}#t", "--", *batch]


def scopes() -> list[str]:
    """Units of batch programs that systemd knows."""
    listed = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "aferir-*.scope"]
    return process.run(listed).stdout.split()


def test_it_runs_in_a_scope_of_the_services_slice(served: str, tmp_path: Path) -> None:
    done = process.run(words_of(served, tmp_path, "cat", "/proc/self/cgroup"))
    path = Path(done.stderr.strip().rpartition(":")[2])
    assert path.parent == Path("/low.slice")
    assert path.name.startswith("aferir-")
    assert path.suffix == ".scope"
    assert json.loads(done.stdout)["problems"] == []
    assert not (_ROOT / path.relative_to("/")).exists()
    assert eventually(lambda: scopes() == [])


def test_after_a_kill_the_unit_is_gone_and_the_service_runs(served: str, tmp_path: Path) -> None:
    command = words_of(served, tmp_path, "sh", "-c", "echo runs >&2; exec sleep 1000")
    with process.start(command, stderr=subprocess.PIPE) as child:
        try:
            assert child.stderr is not None
            assert child.stderr.readline() == "runs\n"
            assert scopes() != []
        finally:
            child.kill()
    assert eventually(lambda: scopes() == [] and list(journal.entries()) == [])
    assert process.run(["systemctl", "is-active", served]).stdout == "active\n"


def test_what_was_set_outlives_a_reload_of_systemd() -> None:
    entry = journal.write(remembered.KIND, {})
    machine = Machine(entry)
    folder = machine.group.folders["unified"]
    assert folder.name == transient.name_of(f"aferir-{entry.id}")
    wanted = Settings(batch=Batch(weight=7, quota_cpus=0.5))
    machine.apply(wanted, {})
    process.run(["systemctl", "daemon-reload"])
    assert eventually(lambda: machine.apply(wanted, {}).problems)
    assert (folder / "cpu.weight").read_text() == "7\n"
    assert not (folder / "cpu.max").read_text().startswith("max")
    assert machine.apply(Settings(batch=Batch(idle=True)), {}).problems == ()
    machine.leave()
    assert remembered.undo(entry) == []
    machine.close()
    assert not folder.exists()
