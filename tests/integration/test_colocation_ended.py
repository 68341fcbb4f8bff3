"""Trials that are ended from outside: all that they made is known to the code that cleans up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from aferir.cli import main
from aferir.colocation.privileges import findings
from aferir.linux import cgroup, journal, process
from benchmarks.colocation.kill import groups_everywhere
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()),
        reason="scheduling other people's threads and making control groups takes root",
    ),
]
_ARM = """
import sys
from aferir.colocation.settings import Sla
from aferir.colocation.trials import arm
from aferir.colocation.trials.arm import Batch, Setup, run
from aferir.colocation.trials.load import Times
from aferir.colocation.trials.service import Running
service = Running(pid=int(sys.argv[1]), latency=f"json:{sys.argv[2]}#t", targets=())
arm._STARTING_S = 3600.0
run("cpu-idle", Setup(service, Sla(), 0.0, Batch("xz", 1), Times(3600.0, 3600.0)))
"""


class _Under(msgspec.Struct, frozen=True):
    """An arm that is running."""

    trial: subprocess.Popen[str]
    controller: int
    guard: int
    group: str


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def under(tmp_path: Path) -> Iterator[_Under]:
    """An arm of a trial whose batch program runs, its temporary files in `tmp_path`."""
    (tmp_path / "log").touch()
    served = process.start(["sleep", "1000"])
    trial = process.start(
        [sys.executable, "-c", _ARM, str(served.pid), str(tmp_path / "log")],
        environment={"TMPDIR": str(tmp_path)},
    )
    found = None
    try:
        found = _wait_for(trial, tmp_path)
        yield found
    finally:
        for pid in (found.guard, found.controller) if found else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.end(trial, grace_s=0.1)
        process.end(served)
        if found:
            cgroup.remove(found.group, cgroup.layout())


def _wait_for(trial: subprocess.Popen[str], folder: Path) -> _Under:
    while trial.poll() is None:
        ours = {pid: words for pid, words in _commands() if str(folder) in " ".join(words)}
        controllers = [pid for pid, words in ours.items() if "--log" in words]
        groups = {name for pid in ours for name in [_group(pid)] if name.startswith("aferir-")}
        for name in groups if len(controllers) == 1 else ():
            guards = [pid for pid, words in _commands() if name.removeprefix("aferir-") in words]
            if len(guards) == 1:
                return _Under(trial, controllers[0], guards[0], name)
        time.sleep(0.05)
    raise AssertionError("the trial does not start")


def _commands() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield int(path.parent.name), path.read_text(errors="replace").split("\0")


def _group(pid: int) -> str:
    """Name of the batch's control group; "" if the process is in none."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            if line.partition(":")[2].startswith(("cpu", ":")):
                return Path(line.rpartition(":")[2]).name
    return ""


def _wait_gone(pids: list[int]) -> None:
    eventually(lambda: not any(journal.start_time(pid) is not None for pid in pids))


@contextlib.contextmanager
def _frozen(pid: int) -> Iterator[None]:
    """SIGSTOP would not do: the kernel wakes a stopped process whose parent dies (setpgid(2))."""
    root = cgroup.layout().v1["freezer"]
    folder = root / f"aferir-test-{pid}"
    folder.mkdir()
    try:
        (folder / "cgroup.procs").write_text(str(pid))
        (folder / "freezer.state").write_text("FROZEN")
        yield
    finally:
        (folder / "freezer.state").write_text("THAWED")
        with contextlib.suppress(ProcessLookupError):  # it goes on at once, and may end
            (root / "cgroup.procs").write_text(str(pid))
        _remove(folder)


def _remove(group: Path) -> None:
    """Remove a group; the kernel reports EBUSY for a moment after its last member has left."""
    eventually(lambda: _removed(group))


def _removed(group: Path) -> bool:
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def test_clean_knows_of_a_trial_that_was_killed_with_controller_and_guard(
    under: _Under, tmp_path: Path
) -> None:
    pids = [under.guard, under.trial.pid, under.controller]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    under.trial.wait()
    _wait_gone(pids)
    assert groups_everywhere({under.group})
    assert main(["clean"]) == 0
    assert groups_everywhere({under.group, f"{under.group}-dying"}) == []
    assert list(journal.entries()) == []
    assert list(tmp_path.glob("aferir-*")) == []


def test_a_guard_that_comes_late_finds_what_to_put_back_though_the_trial_has_ended(
    under: _Under, tmp_path: Path
) -> None:
    """Simulate a machine so busy that the controller is killed while the guard waits."""
    if "freezer" not in cgroup.layout().v1:
        pytest.skip("there is no freezer of version 1")
    with _frozen(under.guard):
        os.kill(under.controller, signal.SIGSTOP)
        os.kill(under.trial.pid, signal.SIGINT)
        under.trial.wait()
        assert list(tmp_path.glob("aferir-*")) == []
        assert groups_everywhere({under.group})
    _wait_gone([under.guard])
    assert groups_everywhere({under.group, f"{under.group}-dying"}) == []
    assert list(journal.entries()) == []
