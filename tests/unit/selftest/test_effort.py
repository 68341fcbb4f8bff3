"""How often two programs alternate before their ratio is judged."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from aferir.selftest.effort import Effort
from aferir.statistics.ratio import Ratio, paired_ratio


def measured(effort: Effort, truth: float, scatter: float, *, seed: int) -> Ratio:
    """A comparison of pairs whose log-ratios have that standard deviation."""
    draw = random.Random(seed)  # noqa: S311 - not cryptography
    pairs: list[float] = []
    found: Ratio | None = None
    while found is None or not effort.is_enough(len(pairs), 0.0, found):
        pairs.append(truth * draw.lognormvariate(0.0, scatter))
        found = paired_ratio(pairs, [1.0] * len(pairs))
    return found


@given(
    least=st.integers(1, 9), more=st.integers(0, 40), seconds=st.floats(0, 9),
    run_s=st.floats(0.001, 30),
)  # fmt: skip
def test_rounds_of_what_stays_unknown_fill_a_span_of_time_within_their_bounds(
    least: int, more: int, seconds: float, run_s: float
) -> None:
    effort = Effort(least=least, most=least + more, seconds=seconds, target=1.0)
    rounds = 0
    while not effort.is_enough(rounds, rounds * run_s, None):
        rounds += 1
    assert least <= rounds <= least + more
    assert rounds in (least, least + more) or (rounds - 1) * run_s < seconds <= rounds * run_s


@given(seed=st.integers(0, 2**32))
def test_a_ratio_far_from_the_target_takes_few_rounds_and_a_near_one_more(seed: int) -> None:
    effort = Effort(least=3, most=60, seconds=60.0, target=1.0)
    far = measured(effort, 4.0, 0.1, seed=seed).n
    near = measured(effort, 1.0, 0.1, seed=seed).n
    assert 3 <= far <= 6
    assert near >= far


def test_a_ratio_is_judged_right_in_all_but_few_of_many_benches() -> None:
    effort = Effort(least=3, most=60, seconds=60.0, target=0.95)
    found = [measured(effort, 1.0, 0.04, seed=seed).estimate or 0.0 for seed in range(300)]
    assert sum(ratio < effort.target for ratio in found) <= 6


def test_rounds_go_on_to_the_least_even_where_all_is_known() -> None:
    effort = Effort(least=5, most=100, seconds=60.0, target=1.0)
    assert measured(effort, 2.0, 1e-4, seed=1).n == 5
