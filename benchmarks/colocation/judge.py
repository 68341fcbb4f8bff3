"""Judge whether our policy lets a batch program do enough work, compared with every other arm.

One run of each arm selects the arm to compare with. If our policy seems to do too little, pairs of
neighbouring runs measure the ratio, until its interval is narrow enough or clear of the target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.colocation.trials.study import ALONE
from aferir.model.bench import Figure
from aferir.selftest.effort import Effort
from aferir.statistics.ratio import Ratio, paired_ratio
from benchmarks.colocation import same_speed

OURS = "aferir"
_NEAR = 0.95
_OF_IDLE = 0.8
_LEAST_RATIO = 0.001
"""Smallest ratio: an arm that does no batch work needs one above 0 for its logarithm."""
_LEAST_CPUS = 0.01
_FEWEST_PAIRS, MOST_PAIRS = 6, 12
_MOST_S = 300.0
"""Longest time in seconds for the pairs beside one arm."""
_OF_IDLE_NOTE = (
    "of what plain SCHED_IDLE gives the batch; where that breaks the SLA, of as many CPUs as the "
    "service leaves idle alone; of all of it {:.2f}"
)


class Pair(msgspec.Struct, frozen=True):
    """One run of our policy and one of another arm, next to each other."""

    sla: Sla
    ours: Arm
    other: Arm
    alone: Arm | None = None
    """The service alone at the same time, run if the other arm breaks the SLA.

    If the service breaks the SLA even alone, the machine has become slower, and the pair does not
    count.
    """

    @property
    def speed(self) -> float:
        """Mean speed of the machine over all runs of the pair."""
        return same_speed.mean_speed([one for one in (self.ours, self.other, self.alone) if one])

    @property
    def ratio(self) -> float:
        """Batch work of our policy over that of the other arm, at the same speed of the machine."""
        return _ratio_of(self.ours, self.other, self.speed)

    @property
    def due(self) -> float:
        """Share of the other arm's batch work that our policy is expected to allow.

        It is 1 if that arm keeps the SLA; else the batch may use at most the CPUs that the service
        alone leaves idle.
        """
        if self.alone is None or self.other.meets(self.sla):
            return 1.0
        left = max(same_speed.idle_cpus(self.alone, self.speed), _LEAST_CPUS)
        had = same_speed.batch_cpus(self.other, self.speed)
        return 1.0 if had <= left else left / had

    @property
    def is_fair(self) -> bool:
        """Whether the service alone kept its SLA at that time; true if it was not run alone."""
        return self.alone is None or self.alone.meets(self.sla)


Again = Callable[[str], Iterable[Pair]]
"""Runs pairs of our policy and the named arm in a cell, until its caller stops iterating."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a cell; fields are None if the service breaks its SLA there even alone."""

    words: str
    met: bool | None = None
    near: float | None = None
    """Our batch work over the most that any arm does while it keeps the SLA."""
    of_idle: float | None = None
    """Our batch work over that of plain SCHED_IDLE, without the part that breaks the service's SLA.
    """
    of_idle_whole: float | None = None
    """Our batch work over all batch work of plain SCHED_IDLE."""


def judge(name: str, sla: Sla, arms: Sequence[Arm], again: Again, most: int = MOST_PAIRS) -> Judged:
    """Judge one cell, in which each arm ran once; at most `most` pairs are run beside an arm."""
    words = f"{name}: {_told(sla, arms)}"
    by_name = {arm.policy: arm for arm in arms}
    alone, ours, idle = by_name[ALONE], by_name[OURS], by_name["idle"]
    if not alone.meets(sla):
        return Judged(words=words)
    near, beside = _beside_the_best(sla, ours, arms, again, most)
    once = Pair(sla, ours, idle, alone)
    more: list[str] = []
    pairs = [once]
    if once.ratio < _OF_IDLE:
        pairs = _taken(again(idle.policy), _OF_IDLE, most)
        more = [_told_of_pairs(idle, pairs)]
    fair = [pair for pair in pairs if pair.is_fair]
    return Judged(
        words="; ".join([words, *beside, *more]),
        met=ours.meets(sla),
        near=near,
        of_idle=_ratio(pair.ratio / pair.due for pair in fair).estimate,
        of_idle_whole=_ratio(pair.ratio for pair in fair).estimate,
    )


def _beside_the_best(
    sla: Sla, ours: Arm, arms: Sequence[Arm], again: Again, most: int
) -> tuple[float | None, list[str]]:
    """Compare ours with the arm that does most batch work of those that keep the SLA.

    The arm must keep the SLA in the first pairs as well. Returns the ratio and sentences about it.
    """
    words: list[str] = []
    speed = same_speed.mean_speed(arms)
    keep = [arm for arm in arms if arm.meets(sla) and arm.policy not in (ALONE, OURS)]
    for other in sorted(keep, key=lambda arm: -same_speed.batch_per_s(arm, speed)):
        ratio = _ratio_of(ours, other, speed)
        if ratio >= _NEAR:
            return ratio, words
        pairs = _taken(again(other.policy), _NEAR, most)
        words.append(_told_of_pairs(other, pairs))
        if not any(map(_breaks, pairs[:_FEWEST_PAIRS])):
            return _ratio(pair.ratio for pair in pairs).estimate, words
    return 1.0, words


def _taken(pairs: Iterable[Pair], target: float, most: int) -> list[Pair]:
    """Run pairs until the ratio is known or clear, or the other arm breaks the SLA early.

    Later violations are not held against it: with more pairs, more arms would break the SLA in one.
    """
    least = min(_FEWEST_PAIRS, most)
    effort = Effort(least=least, most=most, seconds=_MOST_S, target=target)
    began = time.monotonic()
    found: list[Pair] = []
    for pair in pairs:
        found.append(pair)
        ratio = _ratio(one.ratio / one.due for one in found if one.is_fair)
        over = len(found) <= least and pair.alone is None and _breaks(pair)
        if over or effort.is_enough(len(found), time.monotonic() - began, ratio):
            break
    return found


def _breaks(pair: Pair) -> bool:
    return not pair.other.meets(pair.sla)


def _ratio(ratios: Iterable[float]) -> Ratio:
    """Compute the ratio of the pairs, as if all had been one cell."""
    found = [max(ratio, _LEAST_RATIO) for ratio in ratios]
    return paired_ratio(found, [1.0] * len(found))


def _ratio_of(ours: Arm, other: Arm, speed: float) -> float:
    theirs = same_speed.batch_per_s(other, speed)
    return same_speed.batch_per_s(ours, speed) / theirs if theirs else 1.0


def _told_of_pairs(other: Arm, pairs: Sequence[Pair]) -> str:
    ratios = listed(pair.ratio for pair in pairs)
    kept = sum(not _breaks(pair) for pair in pairs)
    words = f"{OURS} over {other.policy} {ratios}, which kept the SLA in {kept} of {len(pairs)}"
    known = _ratio(pair.ratio / pair.due for pair in pairs if pair.is_fair).interval
    return words + (f"; of what is due {known.low:.2f} to {known.high:.2f}" if known else "")


def figures(cells: Sequence[Judged]) -> list[Figure]:
    """Return the figures that have to hold in every cell if the service alone meets its SLA."""
    met = [cell.met for cell in cells if cell.met is not None]
    near = [cell.near for cell in cells if cell.near is not None]
    of_idle = [cell.of_idle for cell in cells if cell.of_idle is not None]
    whole = [cell.of_idle_whole for cell in cells if cell.of_idle_whole is not None]
    n = len(met)
    return [
        Figure(
            name="sla.kept",
            value=sum(met) / n if n else None,
            unit="of cells",
            n=n,
            target="= 1, of cells where the service alone keeps it",
            holds=all(met) if n else None,
            note="; ".join(cell.words for cell in cells),
        ),
        _least("sla.batch", near, _NEAR, "of the most batch work of all arms that keep the SLA"),
        _least(
            "sla.batch_of_idle", of_idle, _OF_IDLE, _OF_IDLE_NOTE.format(min(whole, default=1.0))
        ),
    ]


def _least(name: str, values: Sequence[float], least: float, note: str) -> Figure:
    value = min(values, default=None)
    return Figure(
        name=name,
        value=value,
        unit="times",
        n=len(values),
        target=f">= {least:g}, the least cell",
        holds=None if value is None else value >= least,
        note=note,
    )


def _told(sla: Sla, arms: Iterable[Arm]) -> str:
    return "; ".join(
        f"{arm.policy} {1e3 * found.quantile_s:.1f} ms{'' if arm.load.healthy else ' (asked late)'}"
        f" {arm.batch_per_s:.1f}/s"
        f" {arm.batch_cpus:.2f} of {arm.batch_cpus + arm.idle_cpus:.2f} CPUs"
        f" at {arm.speed:.0f}/s, shell {1e3 * max(arm.system_s, default=0.0):.0f} ms"
        for arm in arms
        if (found := arm.latency(sla)) is not None
    )


def listed(ratios: Iterable[float]) -> str:
    """Format the ratios in the order of the pairs."""
    return " ".join(f"{ratio:.2f}" for ratio in ratios)
