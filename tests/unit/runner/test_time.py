"""The time limit of a run, and emulated environments, which must not take it from the others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from aferir.environments.base import Phases
from aferir.errors import InterruptedRunError, TimeoutExpired
from tests.unit.runner.fakes import FakeEnvironment, carry_out, experiment, of


def slow(seconds: float) -> FakeEnvironment:
    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        time.sleep(seconds)
        return '{"duration_s": 1}'

    return instant(FakeEnvironment("native", behave=behave))


def instant(environment: FakeEnvironment) -> FakeEnvironment:
    """Whose allocations take no time, as the limit of time counts them."""
    environment.phases = Phases(total_s=0.0)
    return environment


def test_the_time_limit_ends_a_run_that_is_complete_all_the_same(tmp_path: Path) -> None:
    content = experiment(
        environments=["native"], header='time_limit = "1 s"', stop="repetitions = 100"
    )
    clock = time.monotonic()
    done = carry_out(tmp_path, content, slow(0.1))
    assert time.monotonic() - clock < 3
    assert done.complete
    assert [warning.code for warning in done.provenance.warnings] == ["time-limit"]
    assert 4 <= len(of(done, "native/a")) <= 8


@pytest.mark.parametrize("warmup", [0, 1])
def test_an_emulated_environment_is_spared_what_is_not_for_it(tmp_path: Path, warmup: int) -> None:
    content = experiment(header=f"warmup = {warmup}") + b'emulated = "skip"\n'
    done = carry_out(tmp_path, content, FakeEnvironment("vm", emulated=True))
    counted = Counter(record.cell for record in done.records if not record.warmup)
    assert (counted["vm/a"], counted["vm/b"], counted["container/b"]) == (3, 0, 3)
    assert [w.code for w in done.provenance.warnings] == ["skipped-emulated"]
    assert "vm is emulated in software and was spared b" in done.provenance.warnings[0].message


def test_a_machine_that_virtualises_spares_nothing(tmp_path: Path) -> None:
    content = experiment() + b'emulated = "skip"\n'
    done = carry_out(tmp_path, content, FakeEnvironment("vm"))
    assert sum(record.cell == "vm/b" and not record.warmup for record in done.records) == 3
    assert not done.provenance.warnings


def test_an_emulated_environment_never_takes_the_time_of_the_others(tmp_path: Path) -> None:
    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        time.sleep(0.5)
        return '{"duration_s": 1}'

    content = experiment(
        environments=["native", "vm"],
        workloads={"a": ""},
        header='time_limit = "1500 ms"',
        stop="repetitions = 8\nemulated = 8",
    )
    vm = instant(FakeEnvironment("vm", behave=behave, emulated=True))
    done = carry_out(tmp_path, content, vm, slow(0.02))
    assert done.complete
    assert len(of(done, "native/a")) == 1 + 8
    assert 1 <= len(of(done, "vm/a")) <= 3
    assert [warning.code for warning in done.provenance.warnings] == ["time-limit"]
    first = [record.cell for record in done.records if not record.warmup][:2]
    assert first == ["native/a", "vm/a"]


def test_a_program_that_the_time_limit_ended_is_no_failure(tmp_path: Path) -> None:
    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        time.sleep(1.05)
        raise TimeoutExpired("ended")

    content = experiment(environments=["native"], header='time_limit = "1 s"')
    done = carry_out(tmp_path, content, FakeEnvironment("native", behave=behave))
    assert done.complete
    assert not [record for record in done.records if record.failure]
    assert [warning.code for warning in done.provenance.warnings] == ["time-limit"]


def test_time_spent_counts_over_starts(tmp_path: Path) -> None:
    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        time.sleep(0.1)
        if count == 6:
            raise KeyboardInterrupt
        return '{"duration_s": 1}'

    content = experiment(
        environments=["native"], header='time_limit = "1 s"', stop="repetitions = 100"
    )
    with pytest.raises(InterruptedRunError):
        carry_out(tmp_path, content, instant(FakeEnvironment("native", behave=behave)))
    done = carry_out(tmp_path, content, slow(0.1))
    assert done.complete
    assert len(of(done, "native/a")) <= 11
