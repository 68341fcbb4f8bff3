"""The ledger of the time to interactive, on an environment whose steps take known times."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import pytest

from aferir.environments import interactive
from aferir.environments.base import Accounting, Phases
from aferir.errors import MissingError, ProgramError
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

SPEC = EnvironmentSpec(name="e", kind="fake", cpus=1, memory_bytes=2**28)


class Fake:
    """Environment and instance in one; counts how many there are at once."""

    kind = "fake"
    spec = SPEC
    emulated = False
    accounting = Accounting()
    phases = Phases(copied_s=0.25, booted_s=0.5, ready_s=0.125, total_s=0.875)

    def __init__(self, failing: Sequence[int] = ()) -> None:
        self.failing = failing
        self.asked = 0
        self.living = 0
        self.most = 0
        self._turn = threading.Lock()

    def check(self) -> list[Finding]:
        return []

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        return "".join(packages)

    def allocate(self, spec: EnvironmentSpec) -> Fake:
        assert spec is SPEC
        with self._turn:
            self.asked += 1
            if self.asked in self.failing:
                raise MissingError("there is none", remedy="make one")
            self.living += 1
            self.most = max(self.most, self.living)
        return self

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        assert (timeout_s, environment, check) == (None, None, True)
        return Completed(tuple(command), 0, "here\n", "", 0, 0.0)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        raise NotImplementedError(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        raise NotImplementedError(source, destination)

    def pause(self) -> None:
        raise NotImplementedError

    def resume(self) -> None:
        raise NotImplementedError

    def release(self) -> float:
        with self._turn:
            self.living -= 1
        return 0.0625


def test_parts_are_those_of_the_instance() -> None:
    fake = Fake()
    ledger = interactive.once(fake, SPEC)
    assert ledger.parts()[:3] == (0.25, 0.5, 0.125)
    assert ledger.released_s == 0.0625
    assert 0 < ledger.answered_s < ledger.total_s
    assert fake.living == 0


def test_a_kind_without_steps_has_all_in_the_first() -> None:
    fake = Fake()
    fake.phases = Phases(total_s=0.75)
    assert interactive.once(fake, SPEC).parts()[:3] == (0.75, 0.0, 0.0)


def test_what_the_parts_leave_out_is_told() -> None:
    ledger = interactive.Ledger(
        copied_s=1.0, booted_s=2.0, ready_s=3.0, answered_s=3.0, total_s=10.0, released_s=0.0
    )
    assert ledger.unexplained() == pytest.approx(0.1)


def test_one_after_the_other_with_failures_counted() -> None:
    fake = Fake(failing=[2])
    called: list[int] = []
    outcome = interactive.sequential(fake, SPEC, 3, lambda: called.append(1))
    assert len(outcome.ledgers) == 2
    assert outcome.failures == ("there is none; make one",)
    assert fake.most == 1
    assert len(called) == 3


@pytest.mark.parametrize("apart_s", [0.0, 0.001])
def test_instances_of_a_burst_exist_at_the_same_time(apart_s: float) -> None:
    fake = Fake()
    outcome = interactive.together(fake, SPEC, 5, apart_s)
    assert len(outcome.ledgers) == fake.most == 5
    assert fake.living == 0


def test_a_failed_request_does_not_affect_the_others_of_its_burst() -> None:
    fake = Fake(failing=[1, 4])
    outcome = interactive.together(fake, SPEC, 4)
    assert (len(outcome.ledgers), len(outcome.failures)) == (2, 2)
    assert fake.living == 0


def test_an_instance_whose_command_fails_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()

    def fails(*_: object, **__: object) -> Completed:
        raise ProgramError("it broke")

    monkeypatch.setattr(fake, "run", fails)
    assert interactive.sequential(fake, SPEC, 2).failures == ("it broke", "it broke")
    assert fake.living == 0
