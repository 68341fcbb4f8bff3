"""The arithmetic of the bench of the time to interactive."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.interactive.bench import _found

PAIRS = 100


def grown(part: str, seconds: float) -> dict[str, np.ndarray]:
    """Growth of each part in each pair, with noise of 1 ms, and that many seconds in one."""
    rng = np.random.default_rng(34)
    noise = {name: rng.normal(0, 0.001, PAIRS) for name in ("copied_s", "booted_s", "ready_s")}
    return {name: values + (seconds if name == part else 0) for name, values in noise.items()}


@pytest.mark.parametrize(
    ("grows", "seconds", "holds"),
    [("booted_s", 0.006, True), ("booted_s", 0.009, False), ("ready_s", 0.006, False)],
    ids=["by-what-was-planted", "by-more", "another-part"],
)
def test_a_delay_is_found_where_it_was_planted_and_as_long_as_it_was(
    grows: str, seconds: float, holds: bool
) -> None:
    figure = _found("booted_s", grown(grows, seconds), np.full(PAIRS, 0.006))
    assert figure.holds is holds
    assert figure.n == PAIRS


def test_too_few_pairs_and_too_much_noise_are_not_judged() -> None:
    loud = {name: 50 * values for name, values in grown("booted_s", 0.006).items()}
    assert _found("booted_s", loud, np.full(PAIRS, 0.006)).holds is None
    few = {name: values[:4] for name, values in grown("booted_s", 0.006).items()}
    assert _found("booted_s", few, np.full(4, 0.006)).holds is None
