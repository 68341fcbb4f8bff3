"""Estimates the remaining time of a run from the durations of earlier repetitions.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from aferir.model.plan import Cell, Plan
from aferir.model.provenance import Segment
from aferir.model.record import Record, allocation_cell
from aferir.runner.stopping import History, Round, most_repetitions

ELAPSED = "elapsed_s"
"""Metric: duration in s of a program and its start, as measured on the host."""
_ALLOCATION = ("total_s", "release_s")


def cost_s(history: History, cell: str) -> float | None:
    """Median cost in s of a repetition, or of an allocation with its release; None: none recorded.

    The median is used because one delayed repetition does not predict the next.
    """
    spent = [seconds for record in history.of(cell) if (seconds := _spent_s(record)) is not None]
    return median(spent) if spent else None


def round_s(history: History, cells: Sequence[Cell]) -> float | None:
    """Expected duration in s of a round of `cells`; None if the cost of any is unknown."""
    costs = [cost_s(history, cell.id) for cell in cells]
    costs += [cost_s(history, allocation_cell(name)) for name in {c.environment for c in cells}]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def rest_s(
    plan: Plan, history: History, cells: Sequence[Cell], pending: Sequence[Cell], turn: Round
) -> float | None:
    """Upper estimate in s of the time that the remaining repetitions take.

    Stopping rules on intervals may end the run sooner. `cells` are those of this round, of which
    `pending` still have to run. None until each cell has run once.
    """
    costs = {cell.id: cost_s(history, cell.id) for cell in cells}
    if None in costs.values():
        return None
    later = {cell.id: _later(plan, history, cell, turn) for cell in cells}
    total = sum((costs[cell.id] or 0.0) * later[cell.id] for cell in cells)
    total += sum(costs[cell.id] or 0.0 for cell in pending)
    for name in {cell.environment for cell in cells}:
        rounds_left = max(later[cell.id] for cell in cells if cell.environment == name)
        total += (cost_s(history, allocation_cell(name)) or 0.0) * rounds_left
    return total


def _later(plan: Plan, history: History, cell: Cell, turn: Round) -> int:
    """Number of repetitions that a cell can still have after this round."""
    most = most_repetitions(plan, history, cell, turn.slot + 1)
    return plan.warmup - turn.number - 1 + most if turn.warmup else max(0, most - turn.number - 1)


def spent_before_s(segments: Sequence[Segment], records: Sequence[Record]) -> float:
    """Time in s that earlier starts of the run used; a killed one counts to its last record."""
    told = [segment.spent_s for segment in segments] + [record.spent_s for record in records]
    known = [seconds for seconds in told if seconds is not None]
    return max(known) if known else _by_the_date(segments, records)


def _by_the_date(segments: Sequence[Segment], records: Sequence[Record]) -> float:
    """Time in s that earlier starts used, from wall-clock times.

    Runs of versions before 0.2 recorded no `spent_s`.
    """
    total = 0.0
    for place, segment in enumerate(segments):
        end = segment.ended_unix_ns
        if end is None:
            until = (
                segments[place + 1].started_unix_ns if place + 1 < len(segments) else float("inf")
            )
            within = [
                record.started_unix_ns
                for record in records
                if segment.started_unix_ns <= record.started_unix_ns < until
            ]
            end = max(within, default=segment.started_unix_ns)
        total += max(0, end - segment.started_unix_ns) / 1e9
    return total


def _spent_s(record: Record) -> float | None:
    values = {s.metric: s.value for s in record.samples if s.side == "environment"}
    if ELAPSED in values:
        return values[ELAPSED]
    if _ALLOCATION[0] in values:
        return sum(values.get(metric, 0.0) for metric in _ALLOCATION)
    return None
