"""Control groups of version 2, with files in place of the kernel's: delegation to subgroups."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from aferir.colocation import applying, batch, place, remembered
from aferir.colocation.applying import Machine
from aferir.colocation.privileges import findings
from aferir.colocation.service import ServiceSpec, processes
from aferir.colocation.settings import Batch, Settings
from aferir.errors import MissingError
from aferir.linux import cgroup, journal, process
from aferir.linux.cgroup import Layout


def _unified(folder: Path, on: str = "") -> Path:
    """A group of version 2, as far as files can stand for it."""
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.controllers").write_text("cpuset cpu\n")
    (folder / "cgroup.subtree_control").write_text(f"{on}\n")
    (folder / "cpu.weight").write_text("100\n")
    (folder / "cpu.idle").write_text("0\n")
    (folder / "cpu.max").write_text("max 100000\n")
    return folder


def test_the_group_of_version_2_is_within_the_low_slice_and_gets_its_controllers(
    tmp_path: Path,
) -> None:
    _unified(tmp_path, "cpu memory")
    low = _unified(tmp_path / "idle.slice")
    (low / "cpu.idle").write_text("1\n")
    own = _unified(low / "search.service")
    have = Layout(v2=tmp_path, v2_controllers=("cpuset", "cpu", "memory"))
    where = place.below(tmp_path, {own}, may_enter=False)
    parents = batch.parents(have, where)
    assert parents == {"unified": low}
    assert batch.to_switch_on(parents) == {str(low): ("cpu",)}
    group = batch.make("aferir-1", parents, (0, 1), where.share)
    assert group.folders == {"unified": low / "aferir-1"}
    assert (low / "cgroup.subtree_control").read_text() == "+cpu"
    assert cgroup.find("aferir-1", have) == []
    assert cgroup.find("aferir-1", have, (low,)) == [low / "aferir-1"]
    (low / "aferir-1").rmdir()
    place.take_back(low, ("cpu",))
    assert (low / "cgroup.subtree_control").read_text() == "-cpu"


@pytest.mark.parametrize(("file", "value"), [("cpu.weight", "50"), ("cpu.max", "1000 100000")])
def test_what_somebody_uses_by_now_is_not_switched_off(
    tmp_path: Path, file: str, value: str
) -> None:
    parent = _unified(tmp_path, "cpu")
    (_unified(tmp_path / "other") / file).write_text(f"{value}\n")
    place.take_back(parent, ("cpu",))
    assert (parent / "cgroup.subtree_control").read_text() == "cpu\n"


def test_a_file_that_cannot_be_read_does_not_hide_that_others_are_used(tmp_path: Path) -> None:
    parent = _unified(tmp_path, "cpu")
    other = _unified(tmp_path / "other")
    (other / "cpu.weight").unlink()
    (other / "cpu.weight").mkdir()
    (other / "cpu.max").write_text("1000 100000\n")
    place.take_back(parent, ("cpu",))
    assert (parent / "cgroup.subtree_control").read_text() == "cpu\n"


def test_a_reload_is_seen_of_the_usual_weight_too(tmp_path: Path) -> None:
    """Beside a service of a twentieth of the usual weight, the batch's usual weight is 5."""
    group = batch.Group("aferir-1", {"unified": _unified(tmp_path)}, share=0.05)
    assert not batch.is_as_set(Batch(), group, (0, 1))
    (tmp_path / "cpu.weight").write_text("5\n")
    assert batch.is_as_set(Batch(), group, (0, 1))


def test_another_run_of_ours_keeps_its_controllers(tmp_path: Path) -> None:
    parent = _unified(tmp_path, "cpu")
    _unified(tmp_path / "aferir-2")
    place.take_back(parent, ("cpu",))
    assert (parent / "cgroup.subtree_control").read_text() == "cpu\n"


def _with_low(root: Path, procs: str = "", kind: str = "domain") -> tuple[Path, Path]:
    """A service's group in one of hardly any weight, which has processes of its own, or threads."""
    _unified(root, "cpu cpuset")
    low = _unified(root / "low.slice")
    (low / "cpu.weight").write_text("5\n")
    (low / "cgroup.procs").write_text(procs)
    (low / "cgroup.type").write_text(f"{kind}\n")
    own = _unified(low / "search.service")
    (own / "cgroup.type").write_text("domain\n")
    return low, own


def test_a_group_that_has_processes_cannot_hand_controllers_on_and_is_not_entered(
    tmp_path: Path,
) -> None:
    """The kernel would refuse with EBUSY: the batch is beside it, and that is told."""
    low, own = _with_low(tmp_path, procs="812\n")
    found = place.below(tmp_path, {own}, may_enter=False)
    assert (found.parent, found.low) == (tmp_path, low)
    (low / "cgroup.subtree_control").write_text("cpu cpuset\n")
    assert place.below(tmp_path, {own}, may_enter=False).parent == low


@pytest.mark.parametrize("kind", ["threaded", "domain threaded", "domain invalid"])
def test_where_threads_are_members_no_group_for_processes_can_be_made(
    tmp_path: Path, kind: str
) -> None:
    low, own = _with_low(tmp_path, kind=kind)
    (low / "cgroup.subtree_control").write_text("cpu cpuset\n")
    found = place.below(tmp_path, {own}, may_enter=False)
    assert (found.parent, found.low) == (tmp_path, low)


def test_a_batch_is_kept_to_the_cpus_of_aferir_in_version_2_too(tmp_path: Path) -> None:
    """Entering a group of cpuset gives a process all of its CPUs (before Linux 6.2)."""
    _unified(tmp_path, "cpu cpuset")
    made = tmp_path / "aferir-1"
    made.mkdir()
    (made / "cpuset.cpus").write_text("\n")
    batch.make("aferir-1", {"unified": tmp_path}, (1, 3))
    assert (made / "cpuset.cpus").read_text() == "1,3"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two CPUs")
def test_a_batch_without_a_cpuset_is_held_by_its_threads_and_nobody_else_is_touched(
    tmp_path: Path,
) -> None:
    """Switching cpuset on would set the affinity of everything beside it anew (before 6.2)."""
    group = batch.make("aferir-1", {"unified": _unified(tmp_path)}, (0, 1))
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    every = tuple(sorted(os.sched_getaffinity(0)))
    child = process.start(["sleep", "60"])
    try:
        (group.folders["unified"] / "cgroup.procs").write_text(f"{child.pid}\n")
        assert batch.change(Batch(), Batch(cpus=every[1:]), group, every) == []
        assert os.sched_getaffinity(child.pid) == set(every[1:])
        assert batch.change(Batch(cpus=every[1:]), Batch(), group, every) == []
        assert os.sched_getaffinity(child.pid) == set(every)
        (group.folders["unified"] / "cgroup.procs").write_text("")
        held = Batch(cpus=every[:1], policy="batch")
        assert batch.take_in(child.pid, held, group, every) == []
        assert os.sched_getaffinity(child.pid) == set(every[:1])
        assert os.sched_getscheduler(child.pid) == os.SCHED_BATCH
        os.setpriority(os.PRIO_PROCESS, child.pid, 5)  # of whoever started it
        assert batch.take_in(child.pid, Batch(), group, every) == []
        assert os.getpriority(os.PRIO_PROCESS, child.pid) == 0
    finally:
        process.end(child)


def _refusing(patch: pytest.MonkeyPatch, number: int, what: str) -> None:
    real = Path.write_text

    def write(self: Path, text: str, **options: str) -> int:
        if text == what:
            raise OSError(number, os.strerror(number))
        return real(self, text, **options)

    patch.setattr(Path, "write_text", write)


def test_processes_in_the_way_are_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, whose root is no root of its host's hierarchy."""
    _unified(tmp_path)
    _refusing(monkeypatch, errno.EBUSY, "+cpu")
    with pytest.raises(MissingError, match="busy") as caught:
        batch.make("aferir-1", {"unified": tmp_path}, (0,))
    assert f"move the processes of {tmp_path} into a group" in caught.value.remedy


def test_the_root_of_a_container_with_processes_is_missing_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root of the whole machine has no type, and may have processes."""
    _unified(tmp_path)
    (tmp_path / "cgroup.procs").write_text("1\n")
    monkeypatch.setattr(cgroup, "layout", lambda: Layout(v2=tmp_path))
    found = {finding.subject: finding for finding in findings()}
    assert found["cgroups"].status == "ok"
    (tmp_path / "cgroup.type").write_text("domain\n")
    found = {finding.subject: finding for finding in findings()}
    assert found["cgroups"].status == "missing"
    assert str(tmp_path) in found["cgroups"].remedy


def test_a_controller_that_somebody_hands_on_does_not_keep_the_others_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unified(tmp_path, "cpu cpuset")
    _refusing(monkeypatch, errno.EBUSY, "-cpu")
    place.take_back(tmp_path, ("cpu", "cpuset"))
    assert (tmp_path / "cgroup.subtree_control").read_text() == "-cpuset"


@pytest.mark.parametrize(
    "path", ["system.slice/db@15.service", "system.slice/system-db.slice/db@15.service"]
)
def test_a_unit_is_found_however_deep_its_slice_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(cgroup, "layout", lambda: Layout(v2=tmp_path))
    own = tmp_path / path
    own.mkdir(parents=True)
    (own / "cgroup.procs").write_text("41\n42\n")
    assert processes(ServiceSpec("unit", "db@15")) == (41, 42)
    assert processes(ServiceSpec("unit", "db")) == ()


def _own_root(tmp_path: Path, patch: pytest.MonkeyPatch, on: str) -> Path:
    """The root of the machine's groups, where these are switched on; looked at in every period."""
    patch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    patch.setattr(applying, "_LOOK_S", 0.0)
    root = _unified(tmp_path / "root", on)
    patch.setattr(cgroup, "layout", lambda: Layout(v2=root, v2_controllers=("cpu", "cpuset")))
    return root


def test_what_somebody_switches_off_meanwhile_is_set_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemd knows nothing of our group: it takes from its slices what its units do not need."""
    root = _own_root(tmp_path, monkeypatch, "cpu cpuset")
    machine = Machine(journal.write(remembered.KIND, {}))
    own = machine.group.folders["unified"]
    want = Settings(batch=Batch(idle=True, quota_cpus=0.5))
    assert machine.apply(want, {}).problems == ()
    (root / "cgroup.subtree_control").write_text("cpuset\n")
    for file in ("cpu.idle", "cpu.max"):
        (own / file).unlink()
    told = machine.apply(want, {})
    assert [problem for problem in told.problems if "switched off" in problem]
    assert (own / "cpu.idle").read_text() == "1"
    assert (own / "cpu.max").read_text() == "5000 10000"
    kept = remembered.read(machine.group.name.removeprefix("aferir-"))
    assert kept is not None
    assert kept.switched_on == {str(root): ("cpu",)}


def test_cpus_are_set_again_when_somebody_switches_cpusets_on_or_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 6.2 that gives every thread in the group all CPUs, which nobody tells."""
    _own_root(tmp_path, monkeypatch, "cpu")
    every = sorted(os.sched_getaffinity(0))
    served, held = process.start(["sleep", "60"]), process.start(["sleep", "60"])
    machine = Machine(journal.write(remembered.KIND, {}))
    own = machine.group.folders["unified"]
    (own / "cgroup.procs").write_text(f"{held.pid}\n")
    want = Settings(service_cpus=(every[0],), batch=Batch(cpus=(every[-1],)))
    threads = {served.pid: served.pid}
    try:
        assert machine.apply(want, threads).problems == ()
        for _ in range(2):
            assert os.sched_getaffinity(served.pid) == {every[0]}
            assert os.sched_getaffinity(held.pid) == {every[-1]}
            for child in (served, held):
                os.sched_setaffinity(child.pid, every)
            if (own / "cpuset.cpus").exists():
                (own / "cpuset.cpus").unlink()
            else:
                (own / "cpuset.cpus").write_text("\n")
            assert machine.apply(want, threads).problems == ()
            if (own / "cpuset.cpus").exists():
                assert (own / "cpuset.cpus").read_text() == str(every[-1])
                os.sched_setaffinity(held.pid, every[-1:])
        assert os.sched_getaffinity(served.pid) == {every[0]}
        assert os.sched_getaffinity(held.pid) == {every[-1]}
    finally:
        os.sched_setaffinity(0, every)  # the controller has put itself on the batch's CPUs
        process.end(served)
        process.end(held)


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_runs_whichever_ends_last_switches_off_what_the_first_has_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    root = _own_root(tmp_path, monkeypatch, "")
    runs = [journal.write(remembered.KIND, {}) for _ in range(2)]
    groups = [Machine(runs[0]).group.folders["unified"]]
    (root / "cgroup.subtree_control").write_text("cpu\n")
    groups.append(Machine(runs[1]).group.folders["unified"])
    for turn in (first, 1 - first):
        assert (root / "cgroup.subtree_control").read_text() == "cpu\n"
        groups[turn].rmdir()
        assert remembered.undo(runs[turn]) == []
    assert (root / "cgroup.subtree_control").read_text() == "-cpu"


def test_processes_of_a_threaded_group_are_those_of_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.read_text

    def read(self: Path, encoding: str | None = None, errors: str | None = None) -> str:
        if self.name == "cgroup.procs":
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(self, encoding, errors)

    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        (tmp_path / "cgroup.threads").write_text(f"{thread.native_id}\n")
        monkeypatch.setattr(Path, "read_text", read)
        assert cgroup.members(tmp_path) == {os.getpid()}
    finally:
        ended.set()
        thread.join()
