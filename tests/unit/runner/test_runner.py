"""Whole runs with environments that make nothing: cells left out, time limits, resuming."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from aferir.environments.base import Accounting, Context
from aferir.errors import (
    InterruptedRunError,
    MissingError,
    UsageError,
)
from aferir.linux.journal import write
from aferir.measuring.snapshots import read_host, split_files
from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot
from aferir.programs.base import Command
from aferir.registry import kinds
from aferir.runner import Watch, run
from aferir.runner.repetition import command_line, load_warning
from aferir.store import list_runs
from tests.unit.runner.fakes import (
    WORKLOADS,
    FakeEnvironment,
    Watcher,
    carry_out,
    experiment,
    fakes,
    keys,
    of,
    plan_of,
)


def test_every_cell_runs_in_every_round(tmp_path: Path) -> None:
    vm = FakeEnvironment("vm")
    watcher = Watcher()
    done = carry_out(tmp_path, experiment(), vm, watcher=watcher)
    assert done.complete
    assert len(done.records) == (6 + 3) * 4
    assert set(keys(done).values()) == {1}
    assert not any(record.failure for record in done.records)
    assert watcher.rounds == [(1, 1, True), (1, 3, False), (2, 3, False), (3, 3, False)]
    assert [index for _, index, _, _ in watcher.cells] == list(range(1, 25))
    assert {total for _, _, total, _ in watcher.cells} == {24}
    assert watcher.cells[0][3] is None
    assert watcher.cells[-1][3] is not None
    assert done.provenance.images == {k: f"image-of-{k}" for k in ("native", "container", "vm")}
    assert done.provenance.segments[0].ended_unix_ns is not None
    assert done.provenance.commands["vm/a"][0] == "/opt/aferir/sh"
    assert done.provenance.commands["native/a"][0] == "/bin/sh"


def test_an_instance_is_allocated_once_a_round_and_gets_its_program(tmp_path: Path) -> None:
    vm = FakeEnvironment("vm")
    done = carry_out(tmp_path, experiment(), vm)
    assert vm.log[:5] == ["allocate vm", "put /opt/aferir/sh", "run vm", "run vm", "release vm"]
    assert vm.live == 0
    assert vm.log.count("allocate vm") == 4
    allocation = of(done, "vm/allocation")[0]
    values = {sample.metric: sample.value for sample in allocation.samples}
    assert values == {"booted_s": 0.25, "ready_s": 0.25, "total_s": 0.5, "release_s": 0.125}
    assert {sample.side for sample in allocation.samples} == {"environment"}
    assert allocation.workload == allocation.group == "allocation"


def test_nothing_is_put_into_the_host(tmp_path: Path) -> None:
    native = FakeEnvironment("native")
    carry_out(tmp_path, experiment(), native)
    assert not any(line.startswith("put") for line in native.log)


def test_a_kind_that_is_missing_is_left_out_and_said_so(tmp_path: Path) -> None:
    watcher = Watcher()
    vm = FakeEnvironment("vm", missing="there is no emulator")
    done = carry_out(tmp_path, experiment(), vm, watcher=watcher)
    assert done.complete
    assert {record.environment for record in done.records} == {"native", "container"}
    item = done.provenance.left_out[0]
    assert (item.kind, item.name, item.finding.remedy) == (
        "environment",
        "vm",
        "apt-get install it",
    )
    assert watcher.notes == ["left out: environment vm: there is no emulator; apt-get install it"]
    assert not vm.log


def test_a_program_that_is_missing_is_left_out(tmp_path: Path) -> None:
    watcher = Watcher()
    done = carry_out(tmp_path, experiment(workloads={"a": "", "b": "absent"}), watcher=watcher)
    assert {record.workload for record in done.records} == {"a", "allocation"}
    assert "left out: workload b: " in watcher.notes[0]


def test_cells_that_cannot_run_are_named_by_the_levels_that_they_share(tmp_path: Path) -> None:
    watcher = Watcher()
    content = experiment(environments=["native"]) + b'[factors]\nscript = ["true", "absent"]\n'
    done = carry_out(tmp_path, content, watcher=watcher)
    assert {record.group for record in done.records if record.group} >= {"a/script=true"}
    (note,) = watcher.notes
    assert note.startswith("left out: workloads a, b with script=absent: ")


def test_nothing_that_can_run_is_an_error_and_leaves_no_folder(tmp_path: Path) -> None:
    missing = [FakeEnvironment(kind, missing="gone") for kind in ("native", "container", "vm")]
    with pytest.raises(MissingError, match="nothing of this experiment") as caught:
        carry_out(tmp_path, experiment(), *missing)
    assert caught.value.remedy == "apt-get install it"
    assert list_runs(tmp_path) == []


def test_a_run_without_its_baseline_says_so(tmp_path: Path) -> None:
    done = carry_out(tmp_path, experiment(), FakeEnvironment("native", missing="gone"))
    assert [warning.code for warning in done.provenance.warnings] == ["no-baseline"]


def test_what_was_left_out_stays_out_when_resumed(tmp_path: Path) -> None:
    def stop(_name: str, _command: Sequence[str], count: int) -> str:
        if count == 4:
            raise KeyboardInterrupt
        return '{"duration_s": 1}'

    with pytest.raises(InterruptedRunError):
        carry_out(
            tmp_path,
            experiment(),
            FakeEnvironment("vm", missing="gone"),
            FakeEnvironment("native", behave=stop),
        )
    done = carry_out(tmp_path, experiment())
    assert {record.environment for record in done.records} == {"native", "container"}
    assert set(keys(done).values()) == {1}
    assert len(done.provenance.left_out) == 1


def test_an_emulated_environment_is_marked_and_stops_early(tmp_path: Path) -> None:
    content = experiment(stop="repetitions = 5\nemulated = 2")
    done = carry_out(tmp_path, content, FakeEnvironment("vm", emulated=True))
    assert [(r.repetition, r.warmup) for r in of(done, "vm/a")] == [(0, False), (1, False)]
    assert len(of(done, "native/a")) == 1 + 5
    assert len(of(done, "vm/allocation")) == 1 + 2
    marked = {r.environment for r in done.records for w in r.warnings if w.code == "emulated"}
    assert marked == {"vm"}
    assert all(record.warnings for record in done.records if record.environment == "vm")


def test_a_kernel_in_user_space_is_said_with_every_figure_and_once_for_the_run(
    tmp_path: Path,
) -> None:
    content = experiment().replace(b'kind = "container"', b'kind = "oci"\nruntime = "runsc"')
    done = carry_out(tmp_path, content, FakeEnvironment("oci"))
    code = "kernel-in-user-space"
    marked = {r.cell for r in done.records for w in r.warnings if w.code == code}
    assert marked == {"container/a", "container/b", "container/allocation"}
    [said] = [one.message for one in done.provenance.warnings if one.code == code]
    assert said.startswith("container: programs ran on a kernel in user space (gVisor)")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_releases_everything_and_goes_on_later(
    tmp_path: Path, number: signal.Signals
) -> None:
    before = signal.getsignal(number)

    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        if count == 5:
            os.kill(os.getpid(), number)
            time.sleep(5)
        return '{"duration_s": 1}'

    made = [FakeEnvironment(kind) for kind in ("native", "vm")]
    made.append(FakeEnvironment("container", behave=behave))
    with pytest.raises(InterruptedRunError) as caught:
        carry_out(tmp_path, experiment(), *made)
    assert caught.value.exit_code == 130
    assert "run the same command again" in caught.value.remedy
    assert [each.live for each in made] == [0, 0, 0]
    assert signal.getsignal(number) == before
    status = list_runs(tmp_path)
    assert [each.status for each in status] == ["unfinished"]
    done = carry_out(tmp_path, experiment())
    assert done.folder == status[0].folder
    assert set(keys(done).values()) == {1}
    assert len(done.records) == 36
    assert len(done.provenance.segments) == 2
    assert all(segment.ended_unix_ns for segment in done.provenance.segments)


def test_a_finished_run_is_not_continued_and_fresh_begins_anew(tmp_path: Path) -> None:
    first = carry_out(tmp_path, experiment())
    assert carry_out(tmp_path, experiment()).folder != first.folder
    assert carry_out(tmp_path, experiment(), fresh=True).folder != first.folder


def test_a_run_that_is_being_written_is_refused(tmp_path: Path) -> None:
    content = experiment(environments=["native"], stop="repetitions = 1")
    refused: list[int] = []

    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        with pytest.raises(UsageError, match="being written by another"):
            carry_out(tmp_path, content)
        refused.append(1)
        return '{"duration_s": 1}'

    assert carry_out(tmp_path, content, FakeEnvironment("native", behave=behave)).complete
    assert len(refused) == 4


def test_orphans_are_cleaned_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    seen: list[object] = []
    watcher = Watcher()
    native = FakeEnvironment("native")

    def clean(entries: Sequence[object]) -> list[str]:
        assert not native.log
        seen.extend(entries)
        return ["vm 1 could not be removed"]

    dead = write("vm", {"what": "left"})
    gone = msgspec.structs.replace(dead, owner_started=1)
    path = tmp_path / "state" / "journal" / f"{dead.id}.json"
    path.write_bytes(msgspec.json.encode(gone))
    content = experiment(environments=["native"])
    run(
        plan_of(content),
        tmp_path / "runs",
        experiment=content,
        kinds=fakes(native),
        workloads=WORKLOADS,
        context=Context(clean=clean),
        progress=watcher,
    )
    assert seen == [gone]
    assert watcher.notes == ["vm 1 could not be removed"]


class CountProbe:
    """How many seconds of CPU time ended children took, and one value that is no number."""

    name = "count"

    def paths(self, side: Side) -> tuple[str, ...]:
        return ("children:rusage", "/proc/uptime", "cgroup:cpuacct/usage", "/absent")

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        assert set(before) == set(after)
        assert "/absent" not in before
        return (
            Sample("files", float(len(before)), "count", side),
            Sample("bad", float("nan"), "s", side),
            Sample("load_of_others_cpus", 0.5, "CPUs", side),
        )


def test_probes_see_the_host_and_what_belongs_to_the_instance(tmp_path: Path) -> None:
    group = tmp_path / "cgroup"
    group.mkdir()
    (group / "usage").write_text("7\n")
    accounting = Accounting(cgroups={"cpuacct": group})

    def behave(_name: str, command: Sequence[str], _count: int) -> str:
        if "/proc/uptime" in command:
            return "\x1e/proc/uptime\n1 2\n"
        return '{"duration_s": 1}'

    vm = FakeEnvironment("vm", behave=behave, accounting=Accounting(own_kernel=True))
    content = experiment(workloads={"a": ""})
    done = run(
        plan_of(content),
        tmp_path / "runs",
        experiment=content,
        kinds=fakes(FakeEnvironment("container", accounting=accounting), vm),
        workloads=WORKLOADS,
        watch=Watch((CountProbe(),)),
    )
    found = {
        (record.environment, sample.side): sample.value
        for record in done.records
        for sample in record.samples
        if sample.metric == "files"
    }
    assert found == {
        ("native", "host"): 2,
        ("native", "instance"): 1,
        ("container", "host"): 3,
        ("container", "instance"): 2,
        ("vm", "host"): 2,
        ("vm", "instance"): 2,
    }
    assert not [s for record in done.records for s in record.samples if s.metric == "bad"]


def test_the_load_of_others_is_a_warning_where_it_can_be_told() -> None:
    busy = [Sample("load_of_others_cpus", 0.5, "CPUs", "host")]
    assert [warning.code for warning in load_warning(busy, 1.0)] == ["load-of-others"]
    assert not load_warning(busy, 0.05)  # two ticks say nothing
    assert not load_warning([Sample("load_of_others_cpus", 0.05, "CPUs", "host")], 10.0)
    assert not load_warning([], 1.0)


def test_processes_that_are_the_instance_are_read_on_the_host() -> None:
    accounting = Accounting(processes=(os.getpid(), 2**22 + 1))
    text = read_host(("process:stat",), accounting)["process:stat"]
    assert text.startswith(f"{os.getpid()} (")
    assert "process:stat" not in read_host(("process:stat",), Accounting())


def test_files_are_split_at_marks() -> None:
    assert split_files("\x1e/a\n1\n2\n\x1e/b\n") == {"/a": "1\n2\n", "/b": ""}
    assert split_files("noise") == {}


def test_in_a_cluster_its_own_mpirun_starts_the_program_where_all_nodes_have_it() -> None:
    program = Path("/host/kernels/cg-openmpi")
    arguments = ("-n", "2", str(program), "--class", "S")
    command = Command(Path("/usr/bin/mpirun"), arguments, launched=program)
    inside = ("mpirun", "-n", "2", "/opt/aferir/cg-openmpi", "--class", "S")
    assert command_line(kinds()["cluster"], command) == inside
    assert command_line(kinds()["native"], command) == ("/usr/bin/mpirun", *arguments)
    alone = Command(Path("/host/kernels/ep"), ("--class", "S"))
    assert command_line(kinds()["cluster"], alone) == ("/opt/aferir/ep", "--class", "S")
