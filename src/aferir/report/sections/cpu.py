"""Section on CPU time by state during programs, from the host and inside instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from aferir.model.record import Side
from aferir.report.blocks import Block, Heading, Paragraph, Picture, Section, Subject
from aferir.report.charts.cpu import SplitOf, cpu_chart
from aferir.report.model import Evaluation
from aferir.report.sections.ratios import MOST_ROWS
from aferir.report.sections.words import hatched

_SIDES: tuple[Side, ...] = ("host", "instance")


def section(subject: Subject) -> Section | None:
    """The section, if a probe recorded CPU states."""
    evaluation = subject.evaluation
    seen = {side: _rows(evaluation, side) for side in _SIDES}
    blocks: list[Block] = []
    for side, rows in seen.items():
        if rows:
            blocks += [Heading(f"Seen from the {side}"), Picture(_drawer(evaluation, rows, side))]
    if not blocks:
        return None
    count = sum(map(len, seen.values()))
    return Section(
        title="CPU time",
        blocks=(
            Paragraph(
                "Mean share of each state while the program ran; they close to 100 %."
                f"{hatched(evaluation)}",
                quiet=True,
            ),
            *blocks,
        ),
        folded=f"{count} splits, by group" if count > 2 * MOST_ROWS else "",
    )


def _rows(evaluation: Evaluation, side: Side) -> list[SplitOf]:
    return [(cell, split) for cell in evaluation.cells for split in cell.cpu if split.side == side]


def _drawer(
    evaluation: Evaluation, rows: Sequence[SplitOf], side: Side
) -> Callable[[], tuple[str, ...]]:
    title = f"CPU time by state, seen from the {side}"
    if len(rows) <= MOST_ROWS:
        return lambda: (cpu_chart(evaluation, rows, name=f"cpu-{side}", title=title),)
    return partial(_by_group, evaluation, rows, side, title)


def _by_group(
    evaluation: Evaluation, rows: Sequence[SplitOf], side: Side, title: str
) -> tuple[str, ...]:
    groups: dict[str, list[SplitOf]] = {}
    for cell, split in rows:
        groups.setdefault(cell.group, []).append((cell, split))
    return tuple(
        cpu_chart(evaluation, own, name=f"cpu-{side}-{place}", title=f"{title}: {group}")
        for place, (group, own) in enumerate(groups.items())
    )
