"""Verdict on the pairs of a gate, test by test. Pure: equal records give equal verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

import msgspec

from aferir.gate.plans import BASE, GROUP, HEAD
from aferir.model.record import Better, Record
from aferir.statistics.ratio import Ratio, paired_ratio
from aferir.statistics.sequential import (
    Answer,
    Limits,
    Look,
    look,
    rounds_needed,
    visible,
)

LOOKS = 10
FEWEST = 8
"""Number of pairs before the first test."""


class Values(msgspec.Struct, frozen=True):
    """Values of one metric for both arms, pair by pair from the same rounds."""

    base: tuple[float, ...]
    head: tuple[float, ...]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Precision of this machine, found by running the same program in both arms."""

    pairs: int
    ratio: Ratio
    spread: float | None
    """Standard deviation of a pair's log-ratio."""
    visible: float | None
    """Smallest excess over the limit that the planned rounds detect in 19 of 20 cases; 0.01 is 1 %.
    """
    alarm: bool
    """True if the program was found slower than itself."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict on the change, with its evidence."""

    answer: Answer
    metric: str
    better: Better
    limits: Limits
    pairs: int
    planned: int
    ratio: Ratio
    """Ratio of `head` over `base`, or the inverse if higher is better: above 1 is worse."""
    look: Look | None
    looks: int
    needed: int | None
    """Total number of pairs that would probably decide; only if undecided."""
    base_value: float | None = None
    head_value: float | None = None
    """Median of `head`; `base_value` is that of `base`."""
    unit: str = "s"


def values_of(
    records: Iterable[Record], metric: str, arms: tuple[str, str] = (BASE, HEAD)
) -> Values:
    """Pairs from the rounds in which both arms have the metric."""
    found: dict[str, dict[int, float]] = {arm: {} for arm in arms}
    for record in records:
        if record.environment in found and record.group == GROUP and not record.warmup:
            for sample in record.samples:
                if sample.metric == metric and sample.side == "program":
                    found[record.environment][record.repetition] = sample.value
    base, head = (found[arm] for arm in arms)
    rounds = sorted(base.keys() & head.keys())
    return Values(tuple(base[n] for n in rounds), tuple(head[n] for n in rounds))


def fractions(planned: int) -> tuple[float, ...]:
    """Fractions of the planned pairs at which a test is made; the first has at least `FEWEST`."""
    points = {math.ceil(planned * number / LOOKS) for number in range(1, LOOKS + 1)}
    return tuple(n / planned for n in sorted(points) if n >= min(FEWEST, planned))


def due(pairs: int, planned: int) -> int | None:
    """Index of the test that is due after `pairs` pairs; None: no test is due."""
    points = [round(fraction * planned) for fraction in fractions(planned)]
    return points.index(pairs) if pairs in points else None


def judge(
    values: Values, planned: int, limits: Limits, *, metric: str, better: Better, unit: str
) -> Verdict:
    """Verdict of the first test that decides, else of the last test that the pairs permit.

    If fewer pairs than planned could be made, the last test uses all pairs that exist.
    """
    made = len(values.base)
    points = [round(fraction * planned) for fraction in fractions(planned)]
    reached = [point for point in points if point <= made]
    if made < planned and made >= min(FEWEST, planned) and made not in reached:
        reached.append(made)
    shares = tuple(point / planned for point in reached)
    last: Look | None = None
    ratio = _ratio(values, made, better)
    looks = 0
    for number, point in enumerate(reached):
        ratio = _ratio(values, point, better)
        last, looks = look(ratio, number, shares, limits), number + 1
        if last.answer != "undecided":
            made = point
            break
    answer: Answer = last.answer if last is not None else "undecided"
    return Verdict(
        answer=answer,
        metric=metric,
        better=better,
        limits=limits,
        pairs=made,
        planned=planned,
        ratio=ratio,
        look=last,
        looks=looks,
        needed=rounds_needed(ratio, limits) if answer == "undecided" else None,
        base_value=median(values.base[:made]) if made else None,
        head_value=median(values.head[:made]) if made else None,
        unit=unit,
    )


def judge_itself(values: Values, planned: int, limits: Limits) -> Seen:
    """Compute the precision of this machine from two arms with the same program."""
    ratio = paired_ratio(values.head, values.base)
    spread = None
    if ratio.log_error is not None:
        spread = ratio.log_error * math.sqrt(ratio.n)
    once = look(ratio, 0, (1.0,), limits)
    return Seen(
        pairs=len(values.base),
        ratio=ratio,
        spread=spread,
        visible=None if spread is None else visible(spread, planned, limits),
        alarm=once.answer == "slower",
    )


def _ratio(values: Values, pairs: int, better: Better) -> Ratio:
    head, base = values.head[:pairs], values.base[:pairs]
    return paired_ratio(base, head) if better == "higher" else paired_ratio(head, base)
