"""The time limit of a run on simulated time; emulated environments must not use it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from aferir.environments.base import Phases
from aferir.errors import InterruptedRunError, TimeoutExpired
from aferir.model.provenance import Segment
from aferir.model.record import Record
from aferir.runner.estimate import spent_before_s
from aferir.store import list_runs
from tests.unit.linux.simulated_clock import SimulatedClock
from tests.unit.runner.fakes import Behave, FakeEnvironment, carry_out, experiment, of

LONG = experiment(environments=["native"], header='time_limit = "101 s"', stop="repetitions = 300")


def timed(
    kind: str, clock: SimulatedClock, behave: Behave, *, emulated: bool = False
) -> FakeEnvironment:
    """A plan whose allocations take no time, as the time limit counts them."""
    environment = FakeEnvironment(kind, behave=behave, emulated=emulated, clock=clock)
    environment.phases = Phases(total_s=0.0)
    return environment


def taking(seconds: float, clock: SimulatedClock) -> Behave:
    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        clock.advance(seconds)
        return '{"duration_s": 1}'

    return behave


def test_the_time_limit_ends_a_run_that_is_complete_all_the_same(tmp_path: Path) -> None:
    clock = SimulatedClock()
    native = timed("native", clock, taking(1.0, clock))
    done = carry_out(tmp_path, LONG, native, clock=clock)
    assert done.complete
    (warning,) = done.provenance.warnings
    assert warning.code == "time-limit"
    assert warning.message == (
        "the time limit of 1 min 41 s ended the run after 98 of at most 600 repetitions"
    )
    assert [summary.note for summary in list_runs(tmp_path)] == [warning.message]
    assert clock.now_s() == 1100.0
    assert len(of(done, "native/a")) == len(of(done, "native/b")) == 50


def test_a_run_that_its_time_limit_ended_goes_on_under_a_longer_one(tmp_path: Path) -> None:
    clock = SimulatedClock()
    native = timed("native", clock, taking(1.0, clock))
    first = carry_out(tmp_path, LONG, native, clock=clock)
    again = carry_out(tmp_path, LONG.replace(b"101 s", b"201 s"), native, clock=clock)
    assert again.folder == first.folder
    assert again.records[: len(first.records)] == first.records
    assert again.complete
    assert [one.code for one in again.provenance.warnings] == ["time-limit"]
    assert clock.now_s() == 1200.0  # the first 100 s count
    same = carry_out(tmp_path, LONG.replace(b"101 s", b"201 s"), native, clock=clock)
    assert same.folder != first.folder


@pytest.mark.parametrize("warmup", [0, 1])
def test_an_emulated_environment_is_spared_what_is_not_for_it(tmp_path: Path, warmup: int) -> None:
    content = experiment(header=f"warmup = {warmup}") + b'emulated = "skip"\n'
    done = carry_out(tmp_path, content, FakeEnvironment("vm", emulated=True))
    counted = Counter(record.cell for record in done.records if not record.warmup)
    assert (counted["vm/a"], counted["vm/b"], counted["container/b"]) == (3, 0, 3)
    assert [w.code for w in done.provenance.warnings] == ["skipped-emulated"]
    assert "vm is emulated in software and did not run b" in done.provenance.warnings[0].message


def test_a_machine_that_virtualises_spares_nothing(tmp_path: Path) -> None:
    content = experiment() + b'emulated = "skip"\n'
    done = carry_out(tmp_path, content, FakeEnvironment("vm"))
    assert sum(record.cell == "vm/b" and not record.warmup for record in done.records) == 3
    assert not done.provenance.warnings


def test_an_emulated_environment_never_takes_the_time_of_the_others(tmp_path: Path) -> None:
    content = experiment(
        environments=["native", "vm"],
        workloads={"a": ""},
        header='time_limit = "10 s"',
        stop="repetitions = 8\nemulated = 8",
    )
    clock = SimulatedClock()
    vm = timed("vm", clock, taking(3.5, clock), emulated=True)
    native = timed("native", clock, taking(0.125, clock))
    done = carry_out(tmp_path, content, vm, native, clock=clock)
    assert done.complete
    assert len(of(done, "native/a")) == 1 + 8
    assert len(of(done, "vm/a")) == 2
    (warning,) = done.provenance.warnings
    assert "10 s ended the run after 10 of at most 16 repetitions" in warning.message
    first = [record.cell for record in done.records if not record.warmup][:2]
    assert first == ["native/a", "vm/a"]


def test_a_program_that_the_time_limit_ended_is_no_failure(tmp_path: Path) -> None:
    clock = SimulatedClock()

    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        clock.advance(1.05)
        raise TimeoutExpired("ended")

    content = experiment(environments=["native"], header='time_limit = "1 s"')
    done = carry_out(tmp_path, content, timed("native", clock, behave), clock=clock)
    assert done.complete
    assert not [record for record in done.records if record.failure]
    (warning,) = done.provenance.warnings
    assert warning.code == "time-limit"
    assert warning.message.endswith("0 of at most 6 repetitions; none is of native/a, native/b")


def test_time_spent_counts_over_starts_whatever_the_date_is(tmp_path: Path) -> None:
    clock = SimulatedClock()

    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        clock.advance(1.0)
        if count == 40:
            raise KeyboardInterrupt
        return '{"duration_s": 1}'

    with pytest.raises(InterruptedRunError):
        carry_out(tmp_path, LONG, timed("native", clock, behave), clock=clock)
    (summary,) = list_runs(tmp_path)
    a_day_forward(summary.folder)
    native = timed("native", clock, taking(1.0, clock))
    done = carry_out(tmp_path, LONG, native, clock=clock)
    assert done.complete
    # A second went to the one that was interrupted, and the last round needs two.
    assert len(of(done, "native/a")) + len(of(done, "native/b")) == 98
    assert clock.now_s() == 1099.0


def test_a_killed_start_counts_to_its_last_record(tmp_path: Path) -> None:
    clock = SimulatedClock()

    class Killed(BaseException):
        pass

    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        clock.advance(1.0)
        if count == 41:
            raise Killed
        return '{"duration_s": 1}'

    with pytest.raises(Killed):
        carry_out(tmp_path, LONG, timed("native", clock, behave), clock=clock)
    (summary,) = list_runs(tmp_path)
    forget_the_end(summary.folder)
    native = timed("native", clock, taking(1.0, clock))
    done = carry_out(tmp_path, LONG, native, clock=clock)
    assert done.records[-1].spent_s == 100.0
    assert len(of(done, "native/a")) + len(of(done, "native/b")) == 100


def a_day_forward(folder: Path) -> None:
    """Simulates that the date is set during the run."""
    path = folder / "provenance.json"
    text = path.read_text()
    started = msgspec.json.decode(text)["segments"][0]["started_unix_ns"]
    path.write_text(text.replace(str(started), str(started - 86400 * 10**9)))


def forget_the_end(folder: Path) -> None:
    """Leave a segment as a SIGKILL does: without its end."""
    path = folder / "provenance.json"
    told = msgspec.json.decode(path.read_bytes())
    told["segments"][-1] |= {"ended_unix_ns": None, "spent_s": None}
    path.write_bytes(msgspec.json.encode(told))


def test_a_stop_of_ours_takes_no_time_and_is_told(tmp_path: Path) -> None:
    clock = SimulatedClock()

    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        clock.advance(3600.0 if count == 5 else 1.0)
        return '{"duration_s": 1}'

    content = experiment(
        environments=["native"], header='time_limit = "100 s"', stop="repetitions = 20"
    )
    done = carry_out(tmp_path, content, timed("native", clock, behave), clock=clock)
    assert not done.provenance.warnings
    assert len(of(done, "native/a")) == 21
    (told,) = [record for record in done.records if record.warnings]
    assert [warning.code for warning in told.warnings] == ["stopped"]
    assert told.failure is None
    (elapsed,) = [s.value for s in told.samples if s.metric == "elapsed_s"]
    assert elapsed == 1.0


def test_runs_that_kept_no_account_are_counted_by_the_date() -> None:
    segments = (
        Segment(started_unix_ns=0, ended_unix_ns=7 * 10**9),
        Segment(started_unix_ns=10**10),
    )
    last = Record(
        cell="c",
        group="g",
        environment="e",
        workload="w",
        repetition=0,
        started_unix_ns=12 * 10**9,
    )
    assert spent_before_s(segments, [last]) == 9.0
    newer = msgspec.structs.replace(last, spent_s=8.5)
    assert spent_before_s(segments, [last, newer]) == 8.5
