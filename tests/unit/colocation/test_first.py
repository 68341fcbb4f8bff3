"""When the whole service is above the fair class."""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.settings import Schedule, Settings, ThreadUse
from tests.unit.colocation.states import Step, latency, state, step

_BEFORE_ALL = Schedule(policy="fifo", priority=1)
_AMONG_ALL = Schedule(nice=-5)


def live(seconds: float, first: Settings | None = None, **given: Any) -> Settings:
    """With requests of a millisecond; goes on where `first` ended."""
    decide, now = aferir(), first or Settings()
    since_s = now.memory.values["time_s"] if isinstance(now, Step) else 100.0
    for turn in range(1, round(seconds * 10) + 1):
        seen = {"rate": 500.0, **given, "time_s": since_s + turn / 10, "now": now}
        now = step(decide, state(**seen))
    return now


def _service(now: Settings) -> Schedule | None:
    assert now.threads == {}
    return now.service


def test_a_pool_too_large_for_reservations_goes_before_all_and_the_batch_gives_way() -> None:
    made = live(5)
    assert _service(made) == _BEFORE_ALL
    assert made.batch.idle


def test_two_workers_have_reservations_and_the_rest_of_the_service_stays_where_it_was() -> None:
    workers = tuple(ThreadUse(tid=tid, name="nginx", cpus=0.3) for tid in (1, 2))
    made = live(5, threads=workers)
    assert {one.policy for one in made.threads.values()} == {"deadline"}
    assert made.service == _AMONG_ALL


def test_a_service_whose_threads_are_not_known_yet_or_without_the_privilege_goes_not() -> None:
    assert _service(live(5, threads=())) == _AMONG_ALL
    assert _service(live(5, reservable_cpus=0.0)) == _AMONG_ALL


def test_who_works_besides_is_not_starved_nor_as_soon_as_it_seems_to_be_gone() -> None:
    pool = tuple(ThreadUse(tid=tid, name="t", cpus=0.005) for tid in range(100))
    crowded: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.0}
    busy = live(10, threads=pool, **crowded)
    assert _service(busy) == Schedule(nice=-20)  # too many for reservations
    calm = live(5, live(0.1, busy, threads=pool), threads=pool)
    assert _service(calm) == Schedule(nice=-20)
    calm = live(7, calm, threads=pool)
    assert _service(calm) == Schedule(nice=0)  # among those who may come back
    assert _service(live(30, calm, threads=pool)) == _BEFORE_ALL


def test_a_service_that_takes_most_of_the_machine_goes_back_until_it_leaves_a_quarter() -> None:
    def using(cpus: float) -> dict[str, Any]:
        parts = {"service_cpus": cpus, "batch_cpus": 1.95 - cpus, "idle_cpus": 0.05}
        return {**parts, "rate": 3000.0}

    now = live(3, **using(1.4))
    assert _service(now) == _BEFORE_ALL
    for cpus, wanted in (
        (1.6, _BEFORE_ALL),
        (1.75, _AMONG_ALL),
        (1.6, _AMONG_ALL),
        (1.4, _BEFORE_ALL),
    ):
        now = live(3, now, **using(cpus))
        assert _service(now) == wanted


def test_a_service_goes_first_only_after_it_has_fitted_for_a_while() -> None:
    assert _service(live(1)) == _AMONG_ALL
    now = live(3)
    taken = live(1, now, rate=3000.0, service_cpus=1.95, batch_cpus=0.0, idle_cpus=0.0)
    assert _service(taken) == _AMONG_ALL
    assert _service(live(1.4, taken)) == _AMONG_ALL
    assert _service(live(4, taken)) == _BEFORE_ALL


def test_a_pool_late_in_the_fair_class_and_not_above_it_stays_above_it() -> None:
    now, policies = Settings(), []
    for turn in range(600):
        first = now.service is not None and now.service.policy == "fifo"
        quantile = latency(0.1 if first else 0.22)
        now = step(aferir(), state(rate=500.0, time_s=100 + turn / 10, latency=quantile, now=now))
        policies.append(first)
    assert all(policies[30:])


def test_a_service_that_comes_late_though_it_is_before_all_is_left_to_the_fair_class() -> None:
    now = live(3)
    late = live(6, now, latency=latency(0.3))
    assert _service(late) == _BEFORE_ALL  # the mean of ten seconds is not yet its own
    late = live(2, late, latency=latency(0.3))
    assert _service(late) == _AMONG_ALL
    assert _service(live(25, late)) == _AMONG_ALL
    assert _service(live(40, late)) == _BEFORE_ALL


def test_where_the_kernel_refuses_it_is_not_asked_for_again_for_a_minute() -> None:
    refused = msgspec.structs.replace(live(3), service=Schedule(nice=-20))
    calm = live(5, refused)
    assert _service(calm) == _AMONG_ALL
    assert _service(live(50, calm)) == _AMONG_ALL
    assert _service(live(60, calm)) == _BEFORE_ALL


def test_a_service_kept_to_some_processors_leaves_what_it_leaves_of_those() -> None:
    taken: dict[str, Any] = {"cores": 8, "service_cpus": 1.9, "batch_cpus": 6.0, "rate": 5000.0}
    many = tuple(ThreadUse(tid=tid, name="t", cpus=0.1) for tid in range(20))
    assert _service(live(5, threads=many, **taken)) == _BEFORE_ALL
    assert _service(live(5, threads=many, **taken, service_cores=2)) == _AMONG_ALL


def test_long_requests_would_keep_a_shell_waiting_and_so_do_not_go_before_all() -> None:
    assert _service(live(5, rate=200.0)) == _AMONG_ALL  # 2.5 ms each, at a quarter of the machine
    now = live(5, rate=240.0)
    assert _service(now) == _BEFORE_ALL
    assert _service(live(5, now, rate=180.0)) == _BEFORE_ALL
    assert _service(live(5, now, rate=150.0)) == _AMONG_ALL
    assert _service(live(5, rate=0.0)) == _AMONG_ALL
    many: dict[str, Any] = {"cores": 64, "service_cpus": 20.0, "batch_cpus": 40.0}
    threads = tuple(ThreadUse(tid=tid, name="t", cpus=0.1) for tid in range(200))
    assert _service(live(5, threads=threads, **many, rate=1500.0)) == _AMONG_ALL  # 13 ms each
    assert _service(live(5, threads=threads, **many, rate=4000.0)) == _BEFORE_ALL
