"""Ranks environments over all groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from aferir.model.plan import environment_family
from aferir.report.model import CellResult, Rank
from aferir.statistics.intervals import Interval, around
from aferir.statistics.ratio import Ratio
from aferir.statistics.student import satterthwaite


def rank(cells: Sequence[CellResult], baseline: str, *, level: float) -> tuple[Rank, ...]:
    """Environments by the geometric mean of their ratios; any that lack groups come last.

    With a geometric mean the choice of the baseline does not change the order (Fleming and Wallace
    1986). Environments without any ratio are left out.
    """
    of = len({cell.group for cell in cells})
    ranks = []
    for family in dict.fromkeys(environment_family(cell.environment) for cell in cells):
        own = [cell for cell in cells if environment_family(cell.environment) == family]
        with_results = {cell.group for cell in own if cell.points}
        ratios = [cell.ratio for cell in own if cell.ratio and cell.ratio.estimate is not None]
        is_baseline = family == baseline
        won, contested = _won(family, cells)
        if not (ratios or (is_baseline and with_results)):
            continue
        estimate, interval = (1.0, None) if is_baseline else combine(ratios, level=level)
        ranks.append(
            Rank(
                environment=family,
                ratio=estimate,
                interval=interval,
                groups=len(with_results) if is_baseline else len(ratios),
                of=of,
                emulated=any(cell.emulated for cell in own),
                baseline=is_baseline,
                won=won,
                contested=contested,
            )
        )
    ordered = sorted(ranks, key=lambda r: (r.groups < r.of, r.ratio))
    return tuple(_with_places(rank, ordered) for rank in ordered)


def _won(family: str, cells: Sequence[CellResult]) -> tuple[int, int]:
    """Number of groups in which the family has the smallest median, and of contested groups.

    A group is contested if this family and another one have results in it.
    """
    won = contested = 0
    for group in dict.fromkeys(cell.group for cell in cells):
        medians = [
            (median, environment_family(cell.environment))
            for cell in cells
            if cell.group == group and (median := cell.duration.median) is not None
        ]
        families = {name for _, name in medians}
        if family in families and len(families) > 1:
            contested += 1
            won += min(medians)[1] == family
    return won, contested


def _with_places(rank: Rank, ranks: Sequence[Rank]) -> Rank:
    """Rank with the places that its interval permits; incomplete environments are last."""
    low, high = _ends(rank)
    better = worse = 0
    for other in ranks:
        other_low, other_high = _ends(other)
        behind = (rank.groups < rank.of) - (other.groups < other.of)
        better += behind > 0 or (behind == 0 and other_high < low)
        worse += behind < 0 or (behind == 0 and other_low > high)
    return msgspec.structs.replace(rank, best_place=better + 1, worst_place=len(ranks) - worse)


def _ends(rank: Rank) -> tuple[float, float]:
    """Ends of the rank's interval; unbounded if it has none, and 1 for the baseline."""
    if rank.interval is not None:
        return rank.interval.low, rank.interval.high
    return (1.0, 1.0) if rank.baseline else (0.0, math.inf)


def combine(ratios: Sequence[Ratio], *, level: float) -> tuple[float, Interval | None]:
    """Geometric mean of independent ratios, with an interval if each has a standard error.

    Errors: ValueError if no ratio has an estimate.
    """
    logs = [math.log(ratio.estimate) for ratio in ratios if ratio.estimate is not None]
    if not logs:
        raise ValueError("no ratio to combine")
    m = len(logs)
    centre = sum(logs) / m
    errors = [ratio.log_error for ratio in ratios if ratio.log_error is not None]
    freedoms = tuple(ratio.freedom for ratio in ratios if ratio.freedom is not None)
    if len(errors) < m or len(freedoms) < m:
        return math.exp(centre), None
    parts = tuple((error / m) ** 2 for error in errors)
    freedom = satterthwaite(parts, freedoms)
    on_logs = around(centre, math.sqrt(sum(parts)), freedom, level, "combined log-ratios")
    high = math.exp(on_logs.high) if on_logs.high < 709 else math.inf
    return math.exp(centre), Interval(math.exp(on_logs.low), high, level, on_logs.method)
