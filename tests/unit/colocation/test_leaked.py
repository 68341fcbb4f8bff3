"""Whether deadline bandwidth stays reserved after a run, on simulated time."""

from __future__ import annotations

import pytest

from aferir.colocation import admission
from aferir.colocation.admission import UNIT, Bandwidth
from tests.unit.linux.simulated_clock import SimulatedClock

LIMIT = int(0.95 * UNIT)
BEFORE = Bandwidth(LIMIT, UNIT // 10)


class Kernel:
    """An account that says less from a moment on, and once it has been counted again."""

    def __init__(
        self, patch: pytest.MonkeyPatch, held: int, *, given_back_s: float = 1e9, counted: int = 0
    ) -> None:
        self.clock = SimulatedClock()
        self._held, self._after_count = held, counted
        self._given_back_s = self.clock.now_s() + given_back_s
        self.counts = 0
        patch.setattr(admission, "read_bandwidth", self.read)
        patch.setattr(admission, "count_again", self.count)
        patch.setattr(admission, "_fair_servers", lambda *_: UNIT // 20)

    def read(self) -> Bandwidth:
        held = 0 if self.clock.now_s() >= self._given_back_s else self._held
        return Bandwidth(LIMIT, BEFORE.total + (self._after_count if self.counts else held))

    def count(self) -> None:
        self.counts += 1


def test_what_ended_threads_had_is_given_back_within_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch, UNIT // 2, given_back_s=0.4)
    assert admission.leaked(BEFORE, kernel.clock) == 0
    assert kernel.counts == 0


def test_what_is_not_given_back_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch, UNIT // 2)
    assert admission.leaked(BEFORE, kernel.clock) == 0
    assert kernel.counts == 1


def test_what_stays_all_the_same_is_told_in_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch, UNIT // 2, counted=UNIT // 4)
    assert admission.leaked(BEFORE, kernel.clock) == 0.25


def test_an_account_that_lost_some_is_counted_again_and_holds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch, -UNIT // 8, counted=-UNIT // 8)
    assert admission.leaked(BEFORE, kernel.clock) == 0
    assert kernel.counts == 1


def test_an_account_that_was_too_low_before_has_gained_nothing_by_being_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch, -UNIT // 20)
    low = Bandwidth(LIMIT, -UNIT // 8)
    assert admission.leaked(low, kernel.clock) == 0
    assert kernel.counts == 0
    assert admission.more_than(BEFORE) < 0


def test_fair_servers_are_in_the_account_from_linux_6_8_on() -> None:
    assert admission._fair_servers("6.18.5-cloud-amd64", 2) == 2 * (UNIT // 20)
    assert admission._fair_servers("6.1.0-28-amd64", 2) == 0


def test_nothing_is_known_where_the_account_could_not_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch, 0)
    assert admission.leaked(None, kernel.clock) is None
