"""Compare the curves of two programs that took turns, by message size.

On a shared machine the processors have two speeds, a third apart, for seconds at a time. Quantiles
of all runs would only say which program had more of its runs in the fast seconds. So each run is
compared with the neighbouring run of the other program, and the median of these ratios counts: a
real difference is in every pair, while the machine favours either program equally often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from aferir.model.bench import Figure
from aferir.statistics.intervals import median_interval

PEER = "netpipe-openmpi"
AGREEMENT_PERCENT = 5.0
PERTURBATION = 3
"""Both programs also measure sizes this many bytes above and below each size."""

Curve = Mapping[int, float]
"""Duration in s of a message, by its size in bytes."""


class Range(msgspec.Struct, frozen=True):
    """A range of message sizes, the round trips of each trial, and how many turns."""

    least: int
    most: int
    rounds: int
    turns: int


class Turn(msgspec.Struct, frozen=True):
    """A run of each program, one right after the other."""

    ours: Curve
    theirs: Curve
    ours_first: bool

    def ratios(self) -> dict[int, float]:
        """Our time over theirs, by size."""
        return _over(self.ours, self.theirs)


def judge(name: str, turns: Sequence[Turn], again: int = 0) -> list[Figure]:
    """Judge all turns; each size that both have measured counts.

    `again` is the number of sizes that were measured again, because the two programs, or two runs
    of NetPIPE, differed.
    """
    all_ratios = _gathered([turn.ratios() for turn in turns])
    if not all_ratios:
        return [nothing(name, "no size was measured by both")]
    ratios = {size: median(found) for size, found in sorted(all_ratios.items())}
    themselves = _medians(_neighbours(turns))
    worst = max(ratios, key=lambda size: abs(ratios[size] - 1))
    beyond, restless = _beyond(ratios), _beyond(themselves)
    sure = median_interval(all_ratios[worst])
    between = "" if sure is None else f" (95 %: {sure.low:.3f} to {sure.high:.3f})"
    middle = median_interval(list(ratios.values()))
    sizes = list(ratios)
    return [
        Figure(
            name=f"{name}.worst_disagreement",
            value=100 * abs(ratios[worst] - 1),
            unit="percent",
            n=len(ratios),
            target=f"<= {AGREEMENT_PERCENT:g}",
            holds=not beyond and not restless,
            peer=PEER,
            note=f"of {len(ratios)} sizes, {len(beyond)} are further apart; the worst has "
            f"{worst} bytes, ours over theirs {ratios[worst]:.3f}{between}, median of "
            f"{len(all_ratios[worst])} pairs of runs; {again} sizes were measured again; "
            f"latency and throughput are one measurement",
        ),
        Figure(
            name=f"{name}.median_ratio",
            value=median(ratios.values()),
            unit="ratio",
            n=len(ratios),
            interval=None if middle is None else (middle.low, middle.high),
            note="of a message's time, ours over theirs, over all sizes",
        ),
        _at(f"{name}.latency", sizes[0], turns),
        _at(f"{name}.throughput", sizes[-1], turns),
        *_with_itself(name, themselves),
    ]


def nothing(name: str, why: str) -> Figure:
    """Return the figure of an agreement that was not measured."""
    return Figure(
        name=f"{name}.worst_disagreement",
        value=None,
        unit="percent",
        n=0,
        target=f"<= {AGREEMENT_PERCENT:g}",
        note=why,
    )


def unsettled(turns: Sequence[Turn]) -> list[int]:
    """Return the sizes at which the two programs, or two runs of NetPIPE, differ too much."""
    both = _beyond(_medians([turn.ratios() for turn in turns]))
    return sorted({*both, *_beyond(_medians(_neighbours(turns)))})


def around(apart: Sequence[int], ranges: Sequence[Range]) -> list[Range]:
    """Return a range for each size in `apart`, from the power of two below it up to the size.

    The smaller sizes let TCP open its window. Sizes are powers of two and the middles between them,
    from 13 bytes on each also with `PERTURBATION` bytes less and more. A range must start at a
    power of two for both programs to keep to these sizes: from 1,536 they would go on to 2,304.
    """
    powers = [2**k for k in range(31)]
    bases = [size for power in powers for size in (power, 3 * power // 2)]
    nearest = sorted({min(bases, key=lambda base: _away(base, size)) for size in apart})
    return [
        Range(max(k for k in (1, *powers) if k < max(base, 2)), base, part.rounds, part.turns)
        for base in nearest
        for part in ranges
        if part.least <= base <= part.most
    ]


def _away(base: int, size: int) -> tuple[bool, int]:
    """Sort key of bases: distance from a size; 13 bytes belong to 16, although 12 are nearer."""
    bytes_away = abs(base - size)
    return bytes_away not in (0, PERTURBATION), bytes_away


def _over(first: Curve, second: Curve) -> dict[int, float]:
    return {size: first[size] / second[size] for size in first.keys() & second.keys()}


def _neighbours(turns: Sequence[Turn]) -> list[dict[int, float]]:
    """Ratios of neighbouring NetPIPE runs; the numerator is alternately the earlier one."""
    found: list[dict[int, float]] = []
    for one, other in pairwise(turns):
        if one.ours_first and not other.ours_first:
            early_first = len(found) % 2 == 0
            both = (one.theirs, other.theirs) if early_first else (other.theirs, one.theirs)
            found.append(_over(*both))
    return found


def _gathered(curves: Sequence[Curve]) -> dict[int, list[float]]:
    values: dict[int, list[float]] = {}
    for curve in curves:
        for size, value in curve.items():
            values.setdefault(size, []).append(value)
    return values


def _medians(curves: Sequence[Curve]) -> dict[int, float]:
    return {size: median(values) for size, values in _gathered(curves).items()}


def _beyond(ratios: Mapping[int, float]) -> list[int]:
    return [size for size, ratio in ratios.items() if abs(ratio - 1) * 100 > AGREEMENT_PERCENT]


def _with_itself(name: str, themselves: Mapping[int, float]) -> list[Figure]:
    """Judge NetPIPE against itself in the same way, from half as many pairs: this is the noise."""
    if not themselves:
        return []
    return [
        Figure(
            name=f"{name}.netpipe_with_itself",
            value=100 * max(abs(ratio - 1) for ratio in themselves.values()),
            unit="percent",
            n=len(themselves),
            note=f"its runs that were right after one another: {len(_beyond(themselves))} sizes "
            f"are further apart than {AGREEMENT_PERCENT:g} %",
        )
    ]


def _at(name: str, size: int, turns: Sequence[Turn]) -> Figure:
    """Return the figure of one size, in seconds or bytes a second."""
    bulk = name.endswith("throughput")
    both = [turn for turn in turns if size in turn.ratios()]
    seconds = [median(turn.ours[size] for turn in both), median(turn.theirs[size] for turn in both)]
    ours, theirs = (size / s if bulk else s for s in seconds)
    ratio = median(turn.ratios()[size] for turn in both)
    return Figure(
        name=name,
        value=ours,
        unit="B/s" if bulk else "s",
        n=len(both),
        peer=PEER,
        peer_value=theirs,
        ratio=1 / ratio if bulk else ratio,
        note=f"messages of {size} bytes, median of the runs; the ratio is that of the pairs",
    )
