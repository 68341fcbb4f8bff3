from __future__ import annotations

import pytest

from aferir.statistics.claims import least_repetitions, shortage
from aferir.statistics.multiple import holm
from aferir.statistics.ratio import paired_ratio
from aferir.statistics.verdict import decide


@pytest.mark.parametrize("comparisons", [1, 4, 5, 25, 26, 36, 1000])
def test_the_least_number_claims_the_largest_difference_and_one_less_does_not(
    comparisons: int,
) -> None:
    least = least_repetitions(comparisons)
    for n, outcome in ((least, "higher"), (least - 1, "undecided")):
        slow = [100.0 + 1e-3 * (k % 3) for k in range(n)]
        fast = [1.0 + 1e-5 * (k % 2) for k in range(n)]
        ratio = paired_ratio(slow, fast)
        assert ratio.p_value is not None
        adjusted = holm([ratio.p_value] * comparisons)[0]
        assert decide(ratio, p_adjusted=adjusted).outcome == outcome


def test_a_shortage_is_said_with_what_it_takes() -> None:
    assert shortage(6, 36) == ""
    assert shortage(1, 0) == ""
    said = "are too few to claim a difference in any of 36 comparisons, however large: it takes at"
    assert shortage(5, 36) == f"5 repetitions {said} least 6"
    assert "1 repetition is too few to claim a difference between two" in shortage(1, 1)
