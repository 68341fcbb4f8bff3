"""Cells, instances and environments that fail: the run goes on without them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from aferir.errors import (
    MissingError,
    ProgramError,
    RefusedError,
    TimeoutExpired,
)
from tests.unit.runner.fakes import (
    FakeEnvironment,
    Watcher,
    carry_out,
    experiment,
    of,
)


def failing(error: Callable[[], str], *, only: str = "b") -> FakeEnvironment:
    def behave(_name: str, command: Sequence[str], _count: int) -> str:
        return error() if command[-1] == only else '{"duration_s": 1}'

    return FakeEnvironment("container", behave=behave)


def raising(error: Exception) -> Callable[[], str]:
    def act() -> str:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "code", "replaced"),
    [
        (raising(TimeoutExpired("too slow")), "time-limit", True),
        (raising(MissingError("no such program")), "missing", True),
        (raising(ProgramError("broken pipe")), "instance", True),
        (raising(OSError(5, "I/O error")), "instance", True),
        (lambda: '{"duration_s": 1, "verified": false}', "unverified", False),
        (lambda: 'exit 1{"duration_s": 1, "verified": false}', "unverified", False),
        (lambda: "garbage", "program", False),
        (lambda: 'exit 1{"duration_s": 1}', "program", False),
        (lambda: "exit 1", "program", False),
    ],
)
def test_a_failed_cell_is_recorded_once_and_the_run_goes_on(
    tmp_path: Path, act: Callable[[], str], code: str, replaced: bool
) -> None:
    container = failing(act)
    watcher = Watcher()
    content = experiment(workloads={"a": "", "b": "b"}, stop="repetitions = 6")
    done = carry_out(tmp_path, content, container, watcher=watcher)
    failed = of(done, "container/b")
    tried = 1 if code == "missing" else 3  # in a row, and then it is given up
    assert [record.failure.code for record in failed if record.failure] == [code] * tried
    assert all(not record.samples for record in failed)
    assert len(failed) == tried
    assert len(of(done, "container/a")) == len(of(done, "native/b")) == 7
    assert container.live == 0
    assert [w.code for w in done.provenance.warnings] == ["given-up"]
    assert [note for note in watcher.notes if note.startswith("given up: container/b")]
    extra = container.log.count("allocate container") - 7
    # The last cell of a round needs no new instance; whether `b` is last is up to the seed.
    assert (extra > 0) == replaced or extra == 0


def test_cells_that_are_given_up_for_one_reason_are_named_together(tmp_path: Path) -> None:
    container = failing(raising(MissingError("no such program")))
    names = "acdefg"
    content = experiment(workloads=dict.fromkeys(names, "b") | {"last": ""})
    [warning] = carry_out(tmp_path, content, container).provenance.warnings
    shown = ", ".join(f"container/{name}" for name in names[:4])
    assert warning.message == f"{shown} and 2 other cells were given up: no such program"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM])
def test_what_we_lack_ourselves_ends_the_run_and_it_goes_on_later(
    tmp_path: Path, number: int
) -> None:
    lacking = failing(raising(OSError(number, os.strerror(number))))
    content = experiment(workloads={"a": "", "b": "b"})
    with pytest.raises(RefusedError, match="cannot be started") as refusal:
        carry_out(tmp_path, content, lacking)
    assert "raise" in refusal.value.remedy
    assert "goes on where it stopped" in refusal.value.remedy
    assert lacking.live == 0
    done = carry_out(tmp_path, content, FakeEnvironment("container"))
    assert done.complete
    assert not [record for record in done.records if record.failure]


def test_an_instance_that_died_is_replaced_for_the_next_cell(tmp_path: Path) -> None:
    dead = {"now": False}

    def behave(_name: str, command: Sequence[str], _count: int) -> str:
        if command[-1] == "b" and not dead.get("once"):
            dead["now"] = dead["once"] = True
        if dead["now"]:
            return "exit 1"  # whatever is asked of a dead instance fails, `true` too
        return '{"duration_s": 1}'

    vm = FakeEnvironment("vm", behave=behave)
    real = vm.allocate

    def allocate(spec: object) -> object:
        dead["now"] = False
        return real(spec)  # type: ignore[arg-type]

    vm.allocate = allocate  # type: ignore[method-assign,assignment]
    content = experiment(workloads={"b": "b", "a": ""})
    done = carry_out(tmp_path, content, vm)
    failures = [record.failure for record in done.records if record.failure]
    assert [failure.code for failure in failures] == ["instance"]
    assert "died" in failures[0].message
    assert len(of(done, "vm/a")) == 4
    assert vm.log.count("allocate vm") == 5
    assert vm.live == 0


def test_an_environment_that_cannot_be_allocated_fails_its_cells(tmp_path: Path) -> None:
    vm = FakeEnvironment("vm")
    attempts = []

    def refuse() -> None:
        attempts.append(1)
        raise ProgramError("it does not boot")

    vm.refuse = refuse
    content = experiment(stop="repetitions = 6")
    done = carry_out(tmp_path, content, vm)
    assert done.complete
    assert len(attempts) == 3  # once a round, until its cells are given up
    failed = [record for record in done.records if record.environment == "vm"]
    assert len(failed) == 3 * 3
    assert {record.failure.code for record in failed if record.failure} == {"allocation"}
    assert len(of(done, "native/a")) == 7


def test_cells_after_an_instance_that_was_not_given_back_whole_have_another(
    tmp_path: Path,
) -> None:
    """A disk that stays attached, say, is no reason to leave out the rest of the round."""

    def behave(_name: str, _command: Sequence[str], count: int) -> str:
        if count == 0:
            container.count += 1
            raise TimeoutExpired("too late")
        return '{"duration_s": 1}'

    container = FakeEnvironment("container", behave=behave)
    real = container.allocate

    def allocate(spec: object) -> object:
        instance = real(spec)  # type: ignore[arg-type]
        given_back = instance.release

        def release() -> float:
            given_back()
            if container.log.count("allocate container") == 1:
                raise ProgramError("it is stuck")
            return 1.0

        instance.release = release  # type: ignore[method-assign]
        return instance

    container.allocate = allocate  # type: ignore[method-assign,assignment]
    done = carry_out(tmp_path, experiment(workloads={"a": "", "b": ""}), container)
    failed = [(r.group, r.failure.code) for r in done.records if r.failure is not None]
    assert sorted(code for _, code in failed) == ["release", "time-limit"]
    assert ("allocation", "release") in failed


def test_a_release_that_fails_hinders_no_other(tmp_path: Path) -> None:
    native, container = FakeEnvironment("native"), FakeEnvironment("container")

    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        return '{"duration_s": 1}'

    real = container.allocate

    def allocate(spec: object) -> object:
        instance = real(spec)  # type: ignore[arg-type]

        def release() -> float:
            raise ProgramError("it is stuck")

        instance.release = release  # type: ignore[method-assign]
        return instance

    container.allocate = allocate  # type: ignore[method-assign,assignment]
    done = carry_out(tmp_path, experiment(), native, container)
    assert native.live == 0
    record = of(done, "container/allocation")[0]
    assert record.failure is not None
    assert record.failure.code == "release"


def test_an_environment_that_comes_to_the_same_as_the_baseline_is_left_out(tmp_path: Path) -> None:
    """One node is on the same CPU however it is placed; two of the very same are what was asked."""
    content = experiment(environments=[], header='baseline = "spread"', stop="repetitions = 1")
    for name, placement in (("packed", "packed"), ("spread", "spread"), ("again", "spread")):
        content += (
            f'[[environment]]\nname = "{name}"\nkind = "cluster"\nnodes = 1\n'
            f'placement = "{placement}"\n'
        ).encode()
    done = carry_out(tmp_path, content)
    (left_out,) = done.provenance.left_out
    assert (left_out.name, left_out.finding.message) == (
        "packed",
        "on this host it comes to the same as spread",
    )
    assert len(of(done, "spread/a")) == len(of(done, "again/a")) == 2
    assert of(done, "packed/a") == []


def test_nothing_is_said_of_the_kernel_of_an_environment_that_never_was(tmp_path: Path) -> None:
    def refuse() -> None:
        raise ProgramError("it does not start")

    sandbox = FakeEnvironment("oci")
    sandbox.refuse = refuse
    content = experiment().replace(b'kind = "container"', b'kind = "oci"\nruntime = "runsc"')
    done = carry_out(tmp_path, content, sandbox)
    assert [warning.code for warning in done.provenance.warnings] == ["given-up"]
