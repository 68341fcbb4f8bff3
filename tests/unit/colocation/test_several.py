"""Several services with an SLA each under one policy: the one that is worst off decides."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aferir.colocation import metrics, status
from aferir.colocation.job import Tick
from aferir.colocation.metrics import Totals
from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.aferir.reserve import Plan, plan
from aferir.colocation.policies.aferir.signals import observe
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.restores import Restores
from aferir.colocation.settings import ServiceState, Settings, Sla, State, ThreadUse
from aferir.colocation.several import together, worst_off
from tests.unit.colocation.states import latency, live, state

CHOSEN = Parameters()


def served(name: str, ratio: float | None, bound_s: float = 0.1, **given: Any) -> ServiceState:
    """A service whose quantile is `ratio` of its bound; None: nothing is known of it."""
    usual: dict[str, Any] = {"rate": 100.0, "service_cpus": 0.3, **given}
    seen = None if ratio is None else latency(ratio * bound_s)
    return ServiceState(name=name, sla=Sla(0.95, bound_s), latency=seen, **usual)


def pool(first: int, *cpus: float) -> tuple[ThreadUse, ...]:
    return tuple(ThreadUse(tid=tid, name="t", cpus=one) for tid, one in enumerate(cpus, first))


def fields(*services: ServiceState) -> dict[str, Any]:
    """Fields of the state that the controller makes of these services."""
    return {**msgspec.structs.asdict(together(services)), "services": services}


def test_the_service_nearest_to_its_own_sla_is_worst_off() -> None:
    slow, tight = served("slow", 0.4, bound_s=1.0), served("tight", 0.9, bound_s=0.005)
    assert worst_off([slow, tight]) is tight
    assert worst_off([served("unheard", None), slow]) is slow


def test_a_certain_violation_comes_before_a_larger_ratio_that_may_be_chance() -> None:
    certain = served("certain", 1.2)
    unsure = ServiceState(name="unsure", sla=Sla(0.95, 0.1), latency=latency(0.15, spread=0.5))
    assert worst_off([unsure, certain]) is certain


def test_a_joint_state_has_the_latency_of_the_worst_and_the_cpus_of_all() -> None:
    one = served("a", 0.9, threads=pool(1, 0.1), occupied=0.2, service_memory_bytes=5)
    other = served("b", 0.1, threads=pool(7, 0.2), occupied=0.7, service_memory_bytes=6)
    joint = together([one, other])
    assert (joint.name, joint.latency, joint.occupied) == ("a", one.latency, 0.7)
    assert [thread.tid for thread in joint.threads] == [1, 7]
    assert joint.service_cpus == 0.6
    assert joint.service_memory_bytes == 11
    assert together([one]) is one


def test_either_service_has_the_batch_cut_and_is_named() -> None:
    calm, late = served("calm", 0.3), served("late", 1.5)
    for services in ((calm, late), (late, calm)):
        cut = live(aferir(), 5, **fields(*services))
        assert cut.batch.suspended or (cut.batch.quota_cpus or 2) < 1
        assert "of late" in cut.explanation.why


def test_a_service_that_hangs_is_protected_although_another_answers() -> None:
    hangs = served("hangs", 0.1, silent_s=10.0, rate=0.0, service_cpus=0.5)
    limited = live(aferir(), 5, **fields(served("well", 0.3), hangs)).batch
    assert limited.suspended or limited.quota_cpus is not None


def test_a_service_without_requests_holds_no_mode_back() -> None:
    unused = served("unused", None, silent_s=60.0, rate=0.0, service_cpus=0.0)
    made = observe(state(**fields(served("used", 0.1), unused)), None, CHOSEN)
    assert made.quantile == pytest.approx(0.1)
    works = msgspec.structs.replace(unused, silent_s=0.5, service_cpus=0.5)
    assert observe(state(**fields(served("used", 0.1), works)), None, CHOSEN).quantile > 1


def planned(*services: ServiceState) -> Plan:
    seen: State = state(**fields(*services))
    return plan(seen, observe(seen, None, CHOSEN), CHOSEN)


def test_reservations_have_the_period_that_their_own_services_sla_asks_for() -> None:
    quick = served("quick", 0.1, bound_s=0.02, threads=pool(1, 0.2))
    slow = served("slow", 0.1, bound_s=1.0, threads=pool(2, 0.2))
    made = planned(quick, slow)
    assert made.whole
    assert made.periods[1] < made.periods[2]
    assert {tid: one.period_s for tid, one in made.schedules().items()} == made.periods


def test_none_is_reserved_where_it_would_do_nothing_for_one_of_them() -> None:
    slow = served("slow", 0.1, bound_s=1.0, threads=pool(1, *[0.1] * 4))
    assert planned(slow).shares
    quick = served("quick", 0.1, bound_s=0.002, threads=pool(9, *[0.1] * 4))
    assert planned(slow, quick) == Plan()
    assert planned(slow, served("threads unknown", 0.1)) == Plan()


def test_operators_see_each_service_by_its_name() -> None:
    two = (served("unit:web", 0.5, bound_s=0.2), served("unit:db", None, bound_s=0.01))
    tick = Tick(state(**fields(*two)), Settings())
    text = metrics.text("unit:web, unit:db", tick, Totals(), Restores())
    assert '_sla_seconds{service="unit:web, unit:db",name="unit:db",quantile="0.95"} 0.01' in text
    assert text.count("aferir_colocate_latency_seconds{") == 1
    said = status.Status(
        id="1",
        pid=1,
        service="unit:web, unit:db",
        state=tick.state,
        now=tick.now,
        totals=Totals(),
        mode="",
    )
    sentence = status.sentence(said, 100.0)
    assert "p95 of unit:web is 100 ms of 200 ms; p95 of unit:db is unknown" in sentence
