"""Parsers of the reports of pgbench and redis-benchmark, and judgement of rounds of services."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.colocation.trials.load import Times
from aferir.errors import UsageError
from aferir.model.bench import Figure
from benchmarks.colocation import postgresql, redis, rounds
from benchmarks.colocation.rounds import Round
from tests.benchmarks.test_colocation import arm

SLA = Sla(0.95, 0.1)


def test_transactions_of_the_warm_up_and_skipped_ones_do_not_count() -> None:
    lines = [
        "0 1 1500 0 1000 501500 1200",  # due at 0.5 s
        "1 2 2000 0 1002 252000 0",  # due at 2.25 s
        "1 3 skipped 0 1003 0 0",
        "1 4 20",  # cut off
    ]
    found = postgresql.transactions(lines, 1000.0, Times(1.0, 5.0))
    assert [(round(one.intended_s, 6), one.latency_s) for one in found] == [(2.25, 0.002)]


def test_reports_of_redis_count_from_the_first_that_began_after_the_warm_up() -> None:
    report = """====== SET ======
  3 requests completed in 0.80 seconds
Latency by percentile distribution:
0.000% <= 0.015 milliseconds (cumulative count 1)
50.000% <= 0.023 milliseconds (cumulative count 2)
100.000% <= 4.503 milliseconds (cumulative count 3)
100.000% <= 4.503 milliseconds (cumulative count 3)

Cumulative distribution of latencies:
66.000% <= 0.103 milliseconds (cumulative count 2)
100.000% <= 5.103 milliseconds (cumulative count 3)
"""
    lines = (3 * report).splitlines()
    assert not redis.requests(lines, Times(2.0, 5.0))
    found = redis.requests(lines, Times(1.0, 5.0))
    assert [one.latency_s for one in found] == pytest.approx([15e-6, 23e-6, 4.503e-3])
    assert {one.intended_s for one in found} == {1.6}


def measured(ours: Arm, alone_s: float = 0.01, idle_cpus: float = 1.0) -> Round:
    return Round(
        (SLA,),
        {
            "alone": arm("alone", 0.0, alone_s, batch_cpus=0.0, idle_cpus=idle_cpus),
            "batch alone": arm("default", 20.0, batch_cpus=1.5, idle_cpus=0.5),
            "default": arm("default", 12.0),
            "aferir": ours,
        },
    )


def figures(cell: str, measured: Sequence[Round]) -> list[Figure]:
    return [rounds.kept(cell, 0, measured), rounds.batch(cell, measured)]


def beside(first: Arm, latency_s: float) -> Arm:
    """The arm with a second service in which every request took that long."""
    return msgspec.structs.replace(first, more=(arm("any", latency_s=latency_s).load,))


def both(alone_s: float, ours_s: float) -> Round:
    """A round in which the first of two services keeps its SLA, with and without batch work."""
    arms = dict(measured(arm("aferir", 6.0)).arms)
    latencies = {"alone": alone_s, "aferir": ours_s}
    return Round(
        (SLA, Sla(0.95, 0.005)),
        {name: beside(one, latencies.get(name, 0.001)) for name, one in arms.items()},
    )


def test_each_service_is_judged_by_its_own_sla_in_the_rounds_in_which_it_alone_keeps_it() -> None:
    cells = [both(0.001, 0.001), both(0.001, 0.02), both(0.02, 0.02)]
    web, store = rounds.kept("web", 0, cells), rounds.kept("store", 1, cells)
    assert (web.value, web.n) == (1.0, 3)
    assert (store.value, store.n, store.holds) == (0.5, 2, False)
    assert rounds.batch("cell", cells).n == 2  # not where the second is late by itself
    assert "10.0 ms 20.0 ms" in store.note


def test_cells_are_chosen_by_name_or_its_beginning_and_others_are_refused() -> None:
    cells = ("redis.memory", "redis.disk", "nginx.disk")
    assert rounds.chosen("part", cells, ("other.x",)) == list(cells)
    assert rounds.chosen("part", cells, ("part.redis",)) == ["redis.memory", "redis.disk"]
    assert rounds.chosen("part", cells, ("part.nginx.disk", "part")) == ["nginx.disk"]
    with pytest.raises(UsageError, match="no such cell"):
        rounds.chosen("part", cells, ("part.nginx", "part.apache"))


def test_the_batch_is_due_half_of_its_work_on_the_cpus_that_the_service_leaves() -> None:
    kept, batch = figures("cell", [measured(arm("aferir", work)) for work in (4.0, 6.0, 9.0)])
    assert (kept.value, kept.holds, kept.n) == (1.0, True, 3)
    assert batch.value == pytest.approx(0.6)
    assert batch.holds
    assert not figures("cell", [measured(arm("aferir", 4.0))])[1].holds


def test_a_batch_that_leaves_cpus_unused_itself_is_due_no_more_than_it_does_alone() -> None:
    more_than_the_batch_takes = measured(arm("aferir", 18.0), idle_cpus=4.0)
    assert figures("cell", [more_than_the_batch_takes])[1].value == pytest.approx(0.9)


def test_rounds_in_which_the_service_alone_breaks_its_sla_do_not_count() -> None:
    late = arm("aferir", 10.0, 0.5)
    kept, batch = figures("cell", [measured(late, alone_s=0.5), measured(arm("aferir", 8.0))])
    assert (kept.value, kept.n, batch.n) == (1.0, 1, 1)
    assert figures("cell", [measured(late)])[0].holds is False
    kept, batch = figures("cell", [measured(late, alone_s=0.5)])
    assert kept.holds is batch.holds is None


def test_the_batch_is_not_judged_if_the_service_leaves_hardly_any_cpu() -> None:
    kept, batch = figures("cell", [measured(arm("aferir"), idle_cpus=0.01)])
    assert kept.holds
    assert batch.value is None
