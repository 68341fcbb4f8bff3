"""Signals from observations: judgements of latency, smoothing, and other processes."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir.signals import (
    Signals,
    judge,
    observe,
    others_cpus,
    time_constants,
)
from aferir.colocation.policies.parameters import Parameters
from tests.unit.colocation.states import latency, state

CHOSEN = Parameters()


def observed(seconds: float, before: Signals | None = None, **given: Any) -> Signals:
    """The signals after so many seconds in which only the time changes."""
    begins_s = before.time_s + 0.1 if before else 100.0
    for turn in range(round(seconds * 10)):
        before = observe(state(**{**given, "time_s": begins_s + turn / 10}), before, CHOSEN)
    assert before is not None
    return before


def test_an_interval_that_reaches_below_the_bound_is_no_certain_violation() -> None:
    assert judge(state(latency=latency(0.21, spread=0.3)), CHOSEN) == "hold"
    assert judge(state(latency=latency(0.21, spread=0.01)), CHOSEN) == "danger"
    assert judge(state(latency=latency(0.19)), CHOSEN) == "calm"


@pytest.mark.parametrize(
    ("silent_s", "service_cpus", "verdict"),
    [(5.0, 1.0, "danger"), (5.0, 0.01, "calm"), (0.5, 1.0, "hold"), (0.5, 0.01, "calm")],
)
def test_a_service_that_works_and_answers_nothing_is_in_danger(
    silent_s: float, service_cpus: float, verdict: str
) -> None:
    seen = state(latency=None, silent_s=silent_s, rate=0.0, service_cpus=service_cpus)
    assert judge(seen, CHOSEN) == verdict


def test_every_time_constant_is_used_and_every_smoothed_signal_has_one() -> None:
    low = observed(100.0, service_cpus=0.2, batch_cpus=0.2, idle_cpus=1.6)
    high = observed(0.1, low, service_cpus=1.0, batch_cpus=0.5, idle_cpus=0.2)
    for name, over_s in time_constants(CHOSEN).items():
        if name in ("threads", "ratio"):
            continue
        before, after = getattr(low, name), getattr(high, name)
        aim = {"load": 1.0, "used": 1.0, "busy": 0.5, "idle": 0.2, "others": 0.3}[name]
        assert after == pytest.approx(before + (aim - before) * 0.1 / over_s)


def test_the_ratio_begins_at_nothing_and_a_first_slow_answer_makes_nobody_late() -> None:
    assert not observed(0.5, latency=latency(0.21, n=6, spread=0.5)).late
    assert observed(30.0, latency=latency(0.19)).late


def test_others_are_all_processes_but_service_batch_and_reservations() -> None:
    given: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.2}
    assert others_cpus(state(**given)) == pytest.approx(0.8)
    assert others_cpus(state(**given, steal_cpus=0.2)) == pytest.approx(0.6)
    assert others_cpus(state(**given, others_reserved_cpus=0.8)) == pytest.approx(0.0)
    assert others_cpus(state(**given, steal_cpus=3.0)) == 0.0


def _beside(cpus: float) -> dict[str, Any]:
    return {"service_cpus": 0.5, "batch_cpus": 1.5 - cpus, "idle_cpus": 0.0}


@pytest.mark.parametrize(
    ("cpus", "company", "beset"),
    [(0.15, False, False), (0.3, True, False), (0.6, True, False), (0.7, True, True)],
)
def test_other_processes_are_negligible_company_or_competitors(
    cpus: float, company: bool, beset: bool
) -> None:
    seen = observed(5.0, **_beside(cpus))
    assert (seen.company.active, seen.beset.active) == (company, beset)


def test_others_are_only_judged_after_they_were_seen_for_a_while() -> None:
    assert not observed(0.9, **_beside(1.0)).beset.active
    assert observed(1.2, **_beside(1.0)).beset.active


def test_competitors_that_are_held_up_and_use_less_still_compete() -> None:
    beset = observed(5.0, **_beside(1.0))
    assert observed(30.0, beset, **_beside(0.4)).beset.active
    assert not observed(30.0, beset, **_beside(0.2)).beset.active
