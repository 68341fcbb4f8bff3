"""Distributions and the frontier, in the form that the report's pictures use."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from aferir.colocation.evaluation import (
    Point,
    bound,
    by_policy,
    by_time,
    distribution,
    scatter,
    settled_s,
)
from aferir.colocation.histogram import Histogram
from aferir.colocation.settings import Sla
from aferir.colocation.trials.capacity import meets, search
from aferir.colocation.trials.load import Asked, Load
from aferir.errors import ProgramError


def test_a_distribution_is_read_where_the_answers_are_enough() -> None:
    made = distribution(Histogram(k / 1000 for k in range(1, 201)), "idle")
    assert made is not None
    assert made.at[-1] == 0.95
    assert made.values[-1] == pytest.approx(0.19, rel=1e-3)
    assert list(made.values) == sorted(made.values)
    assert distribution(Histogram([1.0] * 5), "idle") is None


def test_policies_are_points_of_latency_over_batch_work() -> None:
    points = {"a": Point(2.0, 0.5), "b": Point(1.0, 0.2), "c": Point(3.0, 0.4)}
    assert {(s.label, s.values, s.at, s.kind) for s in scatter(points, Sla())} == {
        ("a", (2.0,), (0.5,), "frontier"),
        ("b", (1.0,), (0.2,), "frontier"),
        ("c", (3.0,), (0.4,), "frontier"),
    }
    latencies, batch = by_policy(points, Sla())
    assert latencies.at == batch.at == ("a", "b", "c")
    assert batch.values == (0.5, 0.2, 0.4)


def test_a_step_has_settled_once_the_sla_is_not_broken_again() -> None:
    slow = [(10 + k / 200, 0.5) for k in range(200)]
    fine = [(11 + k / 200, 0.1) for k in range(200)]
    assert settled_s(fine, Sla(), 10.0) == 0.0
    assert settled_s([*slow, *fine], Sla(), 10.0) == 1.0
    course = by_time([*slow, *fine], "x", Sla(bound_s=0.2))
    assert course.at == (10.0, 10.5, 11.0, 11.5)


def test_the_highest_rate_is_found_to_a_tenth() -> None:
    for true in (41.0, 300.0, 5000.0):
        found = search(lambda rate, true=true: rate <= true)  # type: ignore[misc]
        assert found <= true <= 1.1 * found
    with pytest.raises(ProgramError, match="alone breaks"):
        search(lambda _: False)


def test_a_load_that_takes_more_than_a_tenth_of_the_machine_to_ask_is_too_much() -> None:
    asked = tuple(Asked(intended_s=k / 100, latency_s=0.01, status=200, url=0) for k in range(200))
    load = Load(asked=asked, healthy=True, failed=0, cpus=0.15)
    assert meets(load, Sla(bound_s=0.02), most_cpus=0.2)
    assert not meets(load, Sla(bound_s=0.02), most_cpus=0.1)
    assert not meets(load, Sla(bound_s=0.005), most_cpus=0.2)
    assert not meets(replace(load, failed=3), Sla(bound_s=0.02), most_cpus=0.2)


def test_one_bad_moment_at_the_lowest_rate_does_not_end_the_search() -> None:
    answers = iter([False, True, True])
    assert search(lambda _: next(answers, False)) == pytest.approx(64)


def test_curves_are_named_after_the_quantile_that_the_sla_bounds_and_stand_beside_it() -> None:
    sla = Sla(quantile=0.999, bound_s=0.05)
    course = by_time([(0.1, 0.01), (0.7, 0.02)], "idle", sla)
    assert course.metric == "latency_p99.9_s"
    limit = bound(sla, course)
    assert (limit.at, limit.values, limit.label) == (course.at, (0.05, 0.05), "SLA: 50 ms")
