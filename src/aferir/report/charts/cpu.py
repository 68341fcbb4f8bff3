"""Chart of CPU time by state, stacked to 100 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aferir.report.charts.rows import Bar, Drawn, Key, Panel, Row, rows_chart
from aferir.report.charts.scales import Axis
from aferir.report.formatting import labelled, percent
from aferir.report.marks import places
from aferir.report.model import CellResult, CpuSplit, Evaluation

STATES = ("user", "nice", "system", "irq", "softirq", "iowait", "steal", "idle")
"""States from left to right."""

SplitOf = tuple[CellResult, CpuSplit]


def cpu_chart(evaluation: Evaluation, rows: Sequence[SplitOf], *, name: str, title: str) -> str:
    """Chart of the CPU time of the cells in `rows`."""
    marks = places(evaluation.environments)
    shown = [state for state in STATES if any(split.states.get(state, 0) for _, split in rows)]
    hatched = any(cell.emulated for cell, _ in rows)
    emulated = [Key("plain", "emulated in software", hatched=True)] if hatched else []
    panel = Panel(
        rows=tuple(_row(cell, split, shown, marks) for cell, split in rows),
        axis=Axis(0.0, 100.0, lambda share: f"{share:.0f} %"),
    )
    return rows_chart(
        [panel],
        name=name,
        title=title,
        description="; ".join(_words(cell, split) for cell, split in rows),
        legend=[*(Key(f"state-{state}", state) for state in shown), *emulated],
    )


def _words(cell: CellResult, split: CpuSplit) -> str:
    shares = ", ".join(f"{state} {percent(value / 100)}" for state, value in split.states.items())
    return f"{cell.group}, {labelled(cell.environment, cell.emulated)}: {shares}, n = {split.n}"


def _row(cell: CellResult, split: CpuSplit, shown: Sequence[str], marks: Mapping[str, int]) -> Row:
    drawn: list[Drawn] = []
    left = 0.0
    for state in shown:
        width = split.states.get(state, 0.0)
        drawn.append(Bar(left, left + width, f"state-{state}"))
        left += width
    if cell.emulated:
        drawn.append(Bar(0.0, left, "plain", hatched=True))
    return Row(
        label=f"{cell.group} · {labelled(cell.environment, cell.emulated)}",
        note=f"n = {split.n}",
        place=marks[cell.environment],
        drawn=tuple(drawn),
    )
