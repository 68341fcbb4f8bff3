"""Sentences about levels of factors, for studies of a single environment."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.model.plan import Parameter
from aferir.model.record import GUESTS_EMULATED
from aferir.report.formatting import listing, metric_name, quantity
from aferir.report.model import CellResult, Sentence

_DURATION = "duration_s"
_MOST_NAMED = 10
"""Largest number of levels that a sentence lists; of more levels it lists only the ends."""


class _Level(msgspec.Struct, frozen=True):
    """One level of a factor: its name, and the median of the metric that the study asks about."""

    name: str
    median: float
    unit: str
    n: int


def level_sentences(cells: Sequence[CellResult], metric: str) -> tuple[Sentence, ...]:
    """One sentence for each environment and workload with several levels, in ascending order.

    A sentence lists medians with their n, and claims nothing about differences. An empty `metric`
    is the duration.
    """
    found = []
    for environment, workload in dict.fromkeys((c.environment, c.workload) for c in cells):
        own = [c for c in cells if (c.environment, c.workload) == (environment, workload)]
        levels = [level for cell in own if (level := _level(cell, metric or _DURATION))]
        if len(own) < 2 or not levels:
            continue
        found.append(
            Sentence(
                environment=environment,
                outcome="unknown",
                emulated=any(cell.emulated for cell in own),
                groups=tuple(cell.group for cell in own),
                text=_text(workload, metric or _DURATION, levels, _absent(own)),
            )
        )
    return tuple(found)


def _level(cell: CellResult, metric: str) -> _Level | None:
    if metric == _DURATION:
        summary, unit = cell.duration, "s"
    else:
        known = {m.metric: m for m in cell.metrics}
        if metric not in known:
            return None
        summary, unit = known[metric].summary, known[metric].unit
    if summary.median is None:
        return None
    return _Level(_name(cell), summary.median, "" if unit == "1" else unit, summary.n)


def _name(cell: CellResult) -> str:
    """Name of the group without its workload, which the beginning of the sentence names."""
    emulated = GUESTS_EMULATED in {one.warning.code for one in cell.warnings}
    name = cell.group.removeprefix(f"{cell.workload}/").replace("/", ", ")
    return f"{name} (guests emulated)" if emulated else name


def _absent(cells: Sequence[CellResult]) -> list[str]:
    """Names of groups without a result; a level of which none has one stands for its groups."""
    absent = [cell for cell in cells if not cell.points]
    levels = dict.fromkeys(level for cell in absent for level in cell.factors.items())
    whole = [level for level in levels if _is_whole([c for c in cells if _has(c, level)])]
    rest = [cell for cell in absent if not any(_has(cell, level) for level in whole)]
    return [*(f"all with {name}={value}" for name, value in whole), *map(_name, rest)]


def _has(cell: CellResult, level: tuple[str, Parameter]) -> bool:
    return level in cell.factors.items()


def _is_whole(cells: Sequence[CellResult]) -> bool:
    """Whether these are several, and none has a result."""
    return len(cells) > 1 and not any(cell.points for cell in cells)


def _text(workload: str, metric: str, levels: list[_Level], absent: list[str]) -> str:
    ordered = sorted(levels, key=lambda level: level.median)
    shown = ordered if len(ordered) <= _MOST_NAMED else [*ordered[:3], *ordered[-2:]]
    parts = [f"{quantity(level.median, level.unit)} with {level.name}" for level in shown]
    if len(shown) < len(ordered):
        parts.insert(3, f"… ({len(ordered) - len(shown)} more)")
    counts = sorted({level.n for level in levels})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    said = f"{workload}, {metric_name(metric)} from the least to the most: {listing(parts)} "
    said += f"(medians, n = {n})."
    return f"{said} No result: {listing(absent)}." if absent else said
