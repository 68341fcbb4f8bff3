"""Limits of the batch's memory and disks, and the service's waiting, on the real kernel's files."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.colocation import place, remembered, waiting
from aferir.colocation.applying import Machine
from aferir.colocation.levers import disk
from aferir.colocation.privileges import findings
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import Batch, Settings
from aferir.linux import cgroup, journal, process
from tests.integration.support import own_state

_HAVE = cgroup.layout()
_ROOT = _HAVE.v2 or Path()
_WHOLE = {"cpu", "io", "memory"} <= set(_HAVE.v2_controllers)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()) or _HAVE.v2 is None,
        reason="takes root, and control groups of version 2",
    ),
]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A service in a group of version 2 within another."""
    name = f"aferir-test-{uuid.uuid4().hex[:8]}"
    group = _ROOT / name / "served"
    group.mkdir(parents=True)
    child = process.start(["sleep", "1000"])
    (group / "cgroup.procs").write_text(str(child.pid))
    yield child, group
    process.end(child)
    cgroup.remove(name, _HAVE)


def test_the_service_has_a_group_and_what_it_waits_for(
    served: tuple[subprocess.Popen[str], Path],
) -> None:
    child, group = served
    spec = ServiceSpec("pid", str(child.pid))
    assert waiting.service_group(spec, (child.pid,), _HAVE) == group
    first, second = (waiting.count(time_s, group, {}) for time_s in (1.0, 2.0))
    used = waiting.between(first, second)
    if not (group / "cpu.pressure").exists():
        pytest.skip("this kernel tells no pressure (CONFIG_PSI)")
    assert used.waits is not None
    assert 0 <= used.waits.cpu <= 1


@pytest.mark.skipif(not _WHOLE, reason="io and memory are not in version 2")
def test_limits_are_written_and_the_service_is_protected_and_all_is_restored(
    served: tuple[subprocess.Popen[str], Path],
) -> None:
    _, group = served
    for parent in (_ROOT, group.parent):
        cgroup.delegate(parent, "memory")
    (group.parent / "memory.low").write_text("8192")
    entry = journal.write(remembered.KIND, {})
    machine = Machine(entry, service_groups=[group])
    own = machine.group.folders["unified"]
    limited = Batch(memory_high_bytes=64 * 2**20, disk_bps=10_000_000)
    wanted = Settings(batch=limited, service_memory_low_bytes=32 * 2**20)
    assert machine.apply(wanted, {}).problems == ()
    assert (own / "memory.high").read_text() == f"{64 * 2**20}\n"
    lines = (own / "io.max").read_text().splitlines()
    assert [line.split()[0] for line in lines] == sorted(disk.disks())
    assert all("rbps=10000000 wbps=10000000" in line for line in lines)
    assert [(g / "memory.low").read_text() for g in (group.parent, group)] == [f"{2**25}\n"] * 2
    assert machine.apply(Settings(), {}).problems == ()
    assert (own / "memory.high").read_text() == "max\n"
    assert (own / "io.max").read_text() == ""
    assert (group / "memory.low").read_text() == "0\n"
    machine.apply(wanted, {})
    assert remembered.undo(entry) == []
    assert (group.parent / "memory.low").read_text() == "8192\n"
    assert (group / "memory.low").read_text() == "0\n"
    assert not own.exists()


@pytest.mark.skipif(not _WHOLE, reason="io and memory are not in version 2")
def test_a_larger_protection_by_the_operator_stays(
    served: tuple[subprocess.Popen[str], Path],
) -> None:
    _, group = served
    for parent in (_ROOT, group.parent):
        cgroup.delegate(parent, "memory")
    (group.parent / "memory.low").write_text(f"{2**26}")
    entry = journal.write(remembered.KIND, {})
    machine = Machine(entry, service_groups=[group])
    assert machine.apply(Settings(service_memory_low_bytes=2**25), {}).problems == ()
    assert (group.parent / "memory.low").read_text() == f"{2**26}\n"
    assert (group / "memory.low").read_text() == f"{2**25}\n"
    assert remembered.undo(entry) == []
    assert (group.parent / "memory.low").read_text() == f"{2**26}\n"
    assert (group / "memory.low").read_text() == "0\n"


@pytest.mark.skipif("blkio" not in _HAVE.v1, reason="the controller is not of version 1")
def test_disks_are_limited_in_version_1_too() -> None:
    entry = journal.write(remembered.KIND, {})
    machine = Machine(entry)
    own = machine.group.folders["blkio"]
    assert machine.apply(Settings(batch=Batch(disk_bps=10_000_000)), {}).problems == ()
    written = (own / "blkio.throttle.write_bps_device").read_text().split("\n")
    assert sorted(filter(None, written)) == [f"{number} 10000000" for number in disk.disks()]
    assert machine.apply(Settings(), {}).problems == ()
    assert (own / "blkio.throttle.read_bps_device").read_text() == ""
    assert remembered.undo(entry) == []


def test_the_root_is_no_group_of_a_services_own() -> None:
    pid = os.getpid()
    path = place.group_of_pid(pid, "")
    found = waiting.service_group(ServiceSpec("pid", str(pid)), (pid,), _HAVE)
    assert (found is None) == (path is None or not path.parts)
