"""The Pareto frontier: points that no other point dominates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.frontier import frontier

POINTS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.tuples(st.integers(1, 9).map(float), st.integers(0, 9).map(float)),
    max_size=12,
)


@given(POINTS)
def test_points_on_the_frontier_are_not_dominated_and_all_others_are(
    points: dict[str, tuple[float, float]],
) -> None:
    def beaten(one: tuple[float, float]) -> bool:
        return any(
            other[0] <= one[0] and other[1] >= one[1] and other != one for other in points.values()
        )

    assert set(frontier(points)) == {name for name, one in points.items() if not beaten(one)}
