"""Waiting, on simulated time."""

from __future__ import annotations

import pytest

from aferir.linux import wait
from tests.unit.linux.simulated_clock import SimulatedClock


def test_a_condition_that_holds_is_asked_once_and_nobody_sleeps() -> None:
    clock = SimulatedClock()
    asked: list[float] = []

    def condition() -> str:
        asked.append(clock.now_s())
        return "there"

    assert wait.until(condition, wait.after(5.0, clock), clock) == "there"
    assert asked == [1000.0]
    assert not clock.slept


def test_the_answer_is_returned_as_soon_as_it_is_true() -> None:
    clock = SimulatedClock()
    found = wait.until(
        lambda: clock.now_s() >= 1002.0 and "there", wait.after(5.0, clock), clock, period_s=0.5
    )
    assert found == "there"
    assert clock.now_s() == 1002.0


def test_past_the_deadline_the_last_answer_is_returned_and_no_sleep_goes_beyond_it() -> None:
    clock = SimulatedClock()
    assert wait.until(lambda: None, wait.after(1.0, clock), clock, period_s=0.3) is None
    assert clock.now_s() == pytest.approx(1001.0)
    assert sum(clock.slept) == pytest.approx(1.0)


def test_a_condition_is_polled_once_more_after_the_deadline() -> None:
    clock = SimulatedClock()
    state: list[str] = []

    def condition() -> list[str]:
        if not state and clock.now_s() == 1000.0:
            clock.advance(3600.0)  # we are stopped while we ask, and it comes true meanwhile
            state.append("")
            return []
        return state

    assert wait.until(condition, wait.after(5.0, clock), clock) == [""]


def test_a_deadline_that_has_come_already_asks_once() -> None:
    clock = SimulatedClock()
    asked: list[int] = []
    assert not wait.until(lambda: asked.append(1), clock.now_s() - 1, clock)
    assert len(asked) == 1


def test_an_error_of_the_condition_is_the_caller_s() -> None:
    def condition() -> bool:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - which one is the condition's affair
        wait.until(condition, wait.after(5.0, SimulatedClock()), SimulatedClock())


def test_the_machine_s_own_clock_never_goes_back_and_sleeps() -> None:
    before = wait.MONOTONIC.now_s()
    wait.MONOTONIC.sleep(-1.0)
    wait.MONOTONIC.sleep(0.001)
    assert wait.MONOTONIC.now_s() - before >= 0.001


def test_what_fails_is_tried_again_until_it_works() -> None:
    clock = SimulatedClock()
    tried: list[float] = []

    def act() -> str:
        tried.append(clock.now_s())
        if len(tried) < 3:
            raise OSError("not yet")
        return "done"

    assert wait.until_it_works(act, OSError, wait.after(5.0, clock), clock, period_s=1.0) == "done"
    assert tried == [1000.0, 1001.0, 1002.0]


def test_past_the_deadline_the_last_error_is_raised_and_others_at_once() -> None:
    clock = SimulatedClock()

    def act() -> None:
        raise OSError(f"at {clock.now_s():g}")

    with pytest.raises(OSError, match="at 1003"):
        wait.until_it_works(act, OSError, wait.after(3.0, clock), clock, period_s=1.0)
    with pytest.raises(OSError, match="at 1003"):
        wait.until_it_works(act, ValueError, wait.after(3.0, clock), clock)
