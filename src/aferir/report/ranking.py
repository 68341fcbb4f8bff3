"""Environments over all groups: which of them costs least altogether."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aferir.model.plan import environment_family
from aferir.report.model import CellResult, Rank
from aferir.statistics.intervals import Interval, around
from aferir.statistics.ratio import Ratio
from aferir.statistics.student import satterthwaite


def rank(cells: Sequence[CellResult], baseline: str, *, level: float) -> tuple[Rank, ...]:
    """Environments by the geometric mean of their ratios, those that lack groups last.

    Ratios are averaged geometrically, so that the choice of baseline does not change the order
    (Fleming and Wallace 1986). Environments without any ratio are left out.
    """
    of = len({cell.group for cell in cells})
    ranks = []
    for family in dict.fromkeys(environment_family(cell.environment) for cell in cells):
        own = [cell for cell in cells if environment_family(cell.environment) == family]
        with_results = {cell.group for cell in own if cell.points}
        ratios = [cell.ratio for cell in own if cell.ratio and cell.ratio.estimate is not None]
        is_baseline = family == baseline
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
            )
        )
    return tuple(sorted(ranks, key=lambda r: (r.groups < r.of, r.ratio)))


def combine(ratios: Sequence[Ratio], *, level: float) -> tuple[float, Interval | None]:
    """Geometric mean of independent ratios, with its interval where each has an error.

    Errors: ValueError where there is no ratio with an estimate.
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
