"""P values of several comparisons, adjusted by Holm's method."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.multiple import holm


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 -> made monotone.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx((0.06, 0.04, 0.06, 0.06))
    assert holm([]) == ()
    assert holm([0.7]) == (0.7,)


@given(st.lists(st.floats(0.0, 1.0), max_size=30))
def test_holm_is_monotone_and_never_below_the_raw_value(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    ordered = [adjusted[i] for i in order]
    assert ordered == sorted(ordered)
    if p_values:
        # Never milder than needed: the smallest is exactly Bonferroni's.
        assert min(adjusted) == pytest.approx(min(1.0, min(p_values) * len(p_values)))
