"""Decides which cells still have to run in a round, from the records of earlier rounds alone.

Records of the round itself do not count, so that a resumed run decides as the first one did,
whichever repetitions of that round were recorded before a crash.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from aferir.model.plan import Cell, Plan
from aferir.model.record import MISSING, Record
from aferir.statistics.stopping import relative_half_width

EMULATED = "emulated"
"""Code of the warning that an instance is emulated in software."""
MOST_FAILURES = 3
"""Number of consecutive failures after which no more repetitions of a cell run; one is enough if
the program is not there.
"""


class Round(msgspec.Struct, frozen=True):
    """One repetition of every open cell."""

    number: int
    warmup: bool
    slot: int
    """Number of the round, with warm-up rounds counted too."""


class History:
    """Records of a run by cell and slot, to which new ones are added."""

    def __init__(self, warmup: int, records: Iterable[Record] = ()) -> None:
        self._warmup = warmup
        self._cells: dict[str, dict[int, Record]] = {}
        self._emulated: dict[str, int] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Add one record to the history."""
        slot = record.repetition + (0 if record.warmup else self._warmup)
        self._cells.setdefault(record.cell, {})[slot] = record
        if any(warning.code == EMULATED for warning in record.warnings):
            known = self._emulated.get(record.environment, slot)
            self._emulated[record.environment] = min(known, slot)

    def of(self, cell: str, before: int | None = None) -> list[Record]:
        """Records of one cell in the order of slots, of slots below `before` if it is set."""
        records = self._cells.get(cell, {})
        return [records[slot] for slot in sorted(records) if before is None or slot < before]

    def has(self, cell: str, slot: int) -> bool:
        """True if the cell has a record of the round `slot`."""
        return slot in self._cells.get(cell, {})

    def emulated(self, environment: str, before: int) -> bool:
        """True if a round before slot `before` showed that the environment is emulated."""
        return self._emulated.get(environment, before) < before


def rounds(plan: Plan) -> Iterator[Round]:
    """All rounds that the plan allows, warm-up rounds first."""
    for number in range(plan.warmup):
        yield Round(number, warmup=True, slot=number)
    for number in range(plan.stop.maximum):
        yield Round(number, warmup=False, slot=plan.warmup + number)


def given_up(history: History, cell: str, before: int | None = None) -> bool:
    """True if the last three repetitions of a cell all failed, or its program is not there."""
    last = history.of(cell, before)[-MOST_FAILURES:]
    if last and is_absent(last[-1]):
        return True
    return len(last) == MOST_FAILURES and all(record.failure is not None for record in last)


def is_absent(record: Record) -> bool:
    """True if the repetition failed because the environment lacks the program."""
    return record.failure is not None and record.failure.code == MISSING


def open_cells(
    plan: Plan, history: History, turn: Round, left_out: Collection[str] = ()
) -> tuple[Cell, ...]:
    """Cells of the round in the order of the plan, whether recorded already or not.

    `left_out` names cells that this machine cannot run. Emulated environments have no warm-up,
    which would take minutes for figures that support no claim. Their allocation tells that they are
    emulated, and is the one record of a warm-up round that counts within that round.
    """
    alive = [
        cell
        for cell in plan.cells
        if cell.id not in left_out and not given_up(history, cell.id, turn.slot)
    ]
    if turn.warmup:
        return tuple(c for c in alive if not history.emulated(c.environment, turn.slot + 1))
    alive = [
        cell
        for cell in alive
        if not (cell.workload.skip_emulated and history.emulated(cell.environment, turn.slot))
    ]
    done = _groups_done(plan, history, turn, alive)
    return tuple(
        cell
        for cell in alive
        if cell.group not in done and turn.number < most_repetitions(plan, history, cell, turn.slot)
    )


def most_repetitions(plan: Plan, history: History, cell: Cell, before: int) -> int:
    """Largest number of repetitions of a cell, given what is known of its environment."""
    emulated = history.emulated(cell.environment, before)
    if emulated and cell.workload.skip_emulated:
        return 0
    return min(plan.stop.maximum, plan.stop.emulated) if emulated else plan.stop.maximum


def _groups_done(
    plan: Plan, history: History, turn: Round, alive: Collection[Cell]
) -> frozenset[str]:
    """Groups whose stopping rule is met by every environment; a group stops as a whole."""
    percent = plan.stop.interval_percent
    if percent is None or turn.number < plan.stop.minimum:
        return frozenset()
    wanting = {
        cell.group
        for cell in alive
        if (
            turn.number < plan.stop.emulated
            if history.emulated(cell.environment, turn.slot)
            else relative_half_width(durations(history, cell.id, turn.slot)) >= percent / 100
        )
    }
    return frozenset(cell.group for cell in alive) - wanting


def durations(history: History, cell: str, before: int) -> list[float]:
    """`duration_s` of a cell's counted, successful repetitions."""
    return [
        sample.value
        for record in history.of(cell, before)
        if not record.warmup and record.failure is None
        for sample in record.samples
        if sample.metric == "duration_s" and sample.side == "program"
    ]
