"""How many repetitions it takes before any difference can be claimed."""

from __future__ import annotations

from itertools import count

ALPHA = 0.0125
"""Largest p value of a claimed difference."""
FAMILY_ALPHA = 0.05
"""Largest p value of a claimed difference, after Holm's adjustment for all comparisons of a run."""


def least_repetitions(comparisons: int) -> int:
    """Smallest number of repetitions that can claim a difference in any of so many comparisons.

    The p value of n pairs is at least 2 / 4^n, however they differ (`tails.concentration`), that of
    ranks is larger still, and Holm's adjustment multiplies the smallest by the comparisons.
    """
    limit = min(ALPHA, FAMILY_ALPHA / comparisons)
    return next(n for n in count(1) if 2 / 4**n <= limit)


def shortage(repetitions: int, comparisons: int) -> str:
    """Sentence about repetitions that are too few for any claim; empty if they are not."""
    if comparisons == 0 or repetitions >= least_repetitions(comparisons):
        return ""
    noun = "repetition is" if repetitions == 1 else "repetitions are"
    among = (
        "between two environments" if comparisons == 1 else f"in any of {comparisons} comparisons"
    )
    return (
        f"{repetitions} {noun} too few to claim a difference {among}, however large: it takes at "
        f"least {least_repetitions(comparisons)}"
    )
