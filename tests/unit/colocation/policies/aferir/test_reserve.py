"""Useful reservations: their shares, and their period."""

from __future__ import annotations

from typing import Any

import pytest

from aferir.colocation.policies.aferir.reserve import Plan, plan
from aferir.colocation.policies.aferir.signals import observe
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import Sla, ThreadUse
from tests.unit.colocation.states import SLA, state

CHOSEN = Parameters()


def planned(*cpus: float, **given: Any) -> Plan:
    """The plan for threads that use so much."""
    threads = tuple(ThreadUse(tid=tid, name="t", cpus=one) for tid, one in enumerate(cpus, 1))
    seen = state(threads=threads, **given)
    return plan(seen, observe(seen, None, CHOSEN), CHOSEN)


@pytest.mark.parametrize(("bound_s", "period_s"), [(0.01, 0.0045), (0.1, 0.025), (1.0, 0.025)])
def test_others_wait_for_25_ms_at_most_however_far_the_sla_is(
    bound_s: float, period_s: float
) -> None:
    made = planned(0.3, 0.3, sla=Sla(quantile=0.95, bound_s=bound_s))
    assert made.whole
    assert list(made.periods.values()) == pytest.approx([period_s] * 2, rel=0.02)


def test_a_pool_has_equal_shares_within_what_is_admitted_and_periods_far_below_the_sla() -> None:
    made = planned(0.1, 0.1, 0.1, 0.1)
    assert not made.whole
    assert sum(made.shares.values()) <= 1.8
    assert list(made.shares.values()) == pytest.approx([made.shares[1]] * 4)
    assert max(made.periods.values()) <= SLA.bound_s / 4


def test_a_thread_that_does_nothing_takes_no_room_from_those_that_serve() -> None:
    made = planned(0.0, 0.3, 0.2)
    assert 0 < made.shares[1] < 0.1
    assert made.shares[2] == made.shares[3] > 0.8
    assert made.workers() == [2, 3]


def test_nothing_is_reserved_without_the_privilege_or_if_a_request_takes_periods() -> None:
    assert planned(0.1, 0.1, reservable_cpus=0.0) == Plan()
    assert planned() == Plan()
    assert planned(*[0.01] * 100) == Plan()
    assert planned(0.1, 0.1, 0.1, 0.1, rate=5.0) == Plan()
