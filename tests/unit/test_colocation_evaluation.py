"""Distributions and the frontier, as the report's pictures take them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.evaluation import (
    Point,
    by_policy,
    distribution,
    frontier,
    frontier_series,
)
from aferir.colocation.histogram import Histogram


def test_a_distribution_is_read_where_the_answers_are_enough() -> None:
    made = distribution(Histogram(k / 1000 for k in range(1, 201)), "idle")
    assert made is not None
    assert made.at[-1] == 0.95
    assert made.values[-1] == pytest.approx(0.19, rel=1e-3)
    assert list(made.values) == sorted(made.values)
    assert distribution(Histogram([1.0] * 5), "idle") is None


POINTS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.builds(Point, st.integers(1, 9).map(float), st.integers(0, 9).map(float)),
    max_size=12,
)


@given(POINTS)
def test_nobody_beats_a_policy_on_the_frontier_and_somebody_each_other_one(
    points: dict[str, Point],
) -> None:
    def beaten(one: Point) -> bool:
        return any(
            other.latency_s <= one.latency_s
            and other.batch_share >= one.batch_share
            and other != one
            for other in points.values()
        )

    assert set(frontier(points)) == {name for name, one in points.items() if not beaten(one)}


def test_the_frontier_is_a_curve_along_the_batch_work() -> None:
    points = {"a": Point(2.0, 0.5), "b": Point(1.0, 0.2), "c": Point(3.0, 0.4)}
    made = frontier_series(points)
    assert (made.at, made.values) == ((0.2, 0.5), (1.0, 2.0))
    latencies, batch = by_policy(points)
    assert latencies.at == batch.at == ("b", "a", "c")
    assert batch.values == (0.2, 0.5, 0.4)
