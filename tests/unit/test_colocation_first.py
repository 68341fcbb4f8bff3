"""When the whole service is above the fair class."""

from __future__ import annotations

from typing import Any

from tests.unit.colocation_states import latency
from tests.unit.colocation_states import live as live_anyhow

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.settings import Schedule, Settings, ThreadUse

_BEFORE_ALL = Schedule(policy="fifo", priority=1)
_AMONG_ALL = Schedule(nice=-5)


def live(seconds: float, first: Settings | None = None, **given: Any) -> Settings:
    """With requests of a millisecond."""
    return live_anyhow(aferir(), seconds, first, **{"rate": 500.0, **given})


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


def test_who_works_besides_is_not_starved() -> None:
    crowded: dict[str, Any] = {"service_cpus": 0.5, "batch_cpus": 0.5, "idle_cpus": 0.0}
    assert live(10, **crowded).service == _AMONG_ALL


def test_a_service_that_takes_most_of_the_machine_goes_back_until_it_leaves_a_quarter() -> None:
    def using(cpus: float) -> dict[str, Any]:
        parts = {"service_cpus": cpus, "batch_cpus": 1.95 - cpus, "idle_cpus": 0.05}
        return {**parts, "rate": 2000.0}

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


def test_a_service_that_takes_all_of_the_machine_goes_back_at_once_and_for_a_while() -> None:
    now = live(3)
    all_of_it = live(0.1, now, rate=3000.0, service_cpus=1.95, batch_cpus=0.0, idle_cpus=0.0)
    assert _service(all_of_it) == _AMONG_ALL
    assert _service(live(1.5, all_of_it)) == _AMONG_ALL
    assert _service(live(2.5, all_of_it)) == _BEFORE_ALL


def test_a_service_that_comes_late_though_it_is_before_all_is_left_to_the_fair_class() -> None:
    now = live(3)
    late = live(3, now, latency=latency(0.5))
    assert _service(late) == _AMONG_ALL
    calm: dict[str, Any] = {"latency": latency(0.02)}
    assert _service(live(20, late, **calm)) == _AMONG_ALL
    assert _service(live(40, late, **calm)) == _BEFORE_ALL


def test_long_requests_would_keep_a_shell_waiting_and_so_do_not_go_before_all() -> None:
    assert _service(live(5, rate=100.0)) == _AMONG_ALL  # 5 ms each, at a quarter of the machine
    now = live(5, rate=120.0)
    assert _service(now) == _BEFORE_ALL
    assert _service(live(5, now, rate=100.0)) == _BEFORE_ALL
    assert _service(live(5, now, rate=80.0)) == _AMONG_ALL
    assert _service(live(5, rate=0.0)) == _AMONG_ALL
