"""Parsers of the reports of pgbench and redis-benchmark, and judgement of rounds of their cells."""

from __future__ import annotations

import pytest

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.colocation.trials.load import Times
from benchmarks.colocation import postgresql, redis
from benchmarks.colocation.databases import Round, figures
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
        SLA,
        {
            "alone": arm("alone", 0.0, alone_s, batch_cpus=0.0, idle_cpus=idle_cpus),
            "batch alone": arm("default", 20.0, batch_cpus=1.5, idle_cpus=0.5),
            "default": arm("default", 12.0),
            "aferir": ours,
        },
    )


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
