"""Runs the rounds: allocate, run every open cell once, release, record, until no cell is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from aferir.environments.base import Environment, Kind
from aferir.linux import steady
from aferir.linux.interrupts import shielded
from aferir.linux.running import Running
from aferir.measuring.snapshots import Watch
from aferir.model.plan import Cell, Plan
from aferir.model.record import ALLOCATION, Failure, Record, allocation_cell
from aferir.programs.base import Program
from aferir.runner.estimate import rest_s, round_s
from aferir.runner.order import arrange, rotate
from aferir.runner.pool import Pool, allocation_record
from aferir.runner.preparation import Ready
from aferir.runner.progress import Progress
from aferir.runner.repetition import blank, has_launcher, repeat
from aferir.runner.standstill import judged, suspended_s
from aferir.runner.stopping import (
    MOST_FAILURES,
    History,
    Round,
    given_up,
    is_absent,
    most_repetitions,
    open_cells,
    rounds,
)
from aferir.store import Writer

Enough = Callable[[History, Round], bool]


class Session:
    """State that the rounds of one start of a run share."""

    def __init__(
        self,
        *,
        plan: Plan,
        ready: Ready,
        writer: Writer,
        kinds: Mapping[str, Kind],
        environments: Mapping[str, Environment],
        workloads: Mapping[str, Program[Any]],
        watch: Watch,
        progress: Progress,
        clock: Running,
        spent_s: float = 0.0,
        enough: Enough | None = None,
    ) -> None:
        """`spent_s` is the part of the plan's time limit that earlier starts used, in s.

        `clock` measures the time of this start. `enough` may end the run before a round, and sees
        only the records of earlier rounds.
        """
        self.plan = plan
        self.ready = ready
        self.writer = writer
        self.kinds = {spec.name: kinds[spec.kind] for spec in plan.environments}
        """Kind of each environment, by the environment's name."""
        self.environments = environments
        self.workloads = workloads
        self.watch = watch
        self.progress = progress
        self.enough = enough
        self.left_out = ready.without(plan)
        self.history = History(plan.warmup, writer.records)
        self.clock = clock
        self._begin_s = clock.now_s() - spent_s

    def spent_s(self) -> float:
        """Part of the run's time limit in s that this and earlier starts have used."""
        return self.clock.now_s() - self._begin_s

    def left_s(self) -> float:
        """Time in s until the time limit of the whole run; negative after it."""
        return self.plan.time_limit_s - self.spent_s()

    def stood_still(self, seconds: float) -> None:
        """Exclude from the time limit `seconds` for which a program was stopped."""
        self._begin_s += seconds

    def keep(self, record: Record) -> None:
        """Append a record to the run folder, then to the history."""
        record = msgspec.structs.replace(record, spent_s=round(self.spent_s(), 3))
        self.writer.append(record)
        self.history.add(record)

    def pending(self, turn: Round, cells: Sequence[Cell]) -> list[Cell]:
        """Cells of the round without a record yet; after a crash some may have one."""
        return [cell for cell in cells if not self.history.has(cell.id, turn.slot)]

    def unallocated(self, turn: Round, cells: Sequence[Cell]) -> list[str]:
        """Environments of `cells` whose allocation in this round has no record yet."""
        names = dict.fromkeys(cell.environment for cell in cells)
        return [name for name in names if not self.history.has(allocation_cell(name), turn.slot)]

    def done(self, turn: Round, cells: Sequence[Cell]) -> bool:
        """True if all cells and allocations of the round are recorded."""
        return not self.pending(turn, cells) and not self.unallocated(turn, cells)

    def programs(self) -> dict[str, set[Path]]:
        """Files that are copied into the instances of each environment, by environment."""
        needed: dict[str, set[Path]] = {}
        launching = {
            spec.name
            for spec in self.plan.environments
            if has_launcher(self.kinds[spec.name], spec.host)
        }
        for cell in self.plan.cells:
            if cell.id in self.ready.commands:
                programs = needed.setdefault(cell.environment, set())
                command = self.ready.commands[cell.id]
                launched = command.launched if cell.environment in launching else None
                programs.add(launched or command.program)
                programs.update(command.files)
                if self.watch.frequency is not None:
                    programs.add(self.watch.frequency)
        return needed


class _TimeIsUp(Exception):
    """Raised when the time limit of the whole run has passed; caught in this file."""


def go(session: Session) -> bool:
    """Run all remaining rounds; False if the time limit cut some of them.

    A round that does not fit in the remaining time runs without its emulated environments if it
    fits then.
    """
    plan, history = session.plan, session.history
    late = False
    for turn in rounds(plan):
        cells = _in_order(session, turn)
        if not cells:
            if turn.warmup:
                continue
            break
        if session.done(turn, cells):
            continue
        if session.enough is not None and not turn.warmup and session.enough(history, turn):
            break
        if not _time_for(session, turn, cells):
            late = True
            cells = [cell for cell in cells if not history.emulated(cell.environment, turn.slot)]
            if session.done(turn, cells) or not _time_for(session, turn, cells):
                break
        total = plan.warmup if turn.warmup else plan.stop.maximum
        session.progress.round_started(turn.number + 1, total, turn.warmup)
        try:
            _round(session, turn, cells)
        except _TimeIsUp:
            return False
    return not late


def _in_order(session: Session, turn: Round) -> list[Cell]:
    """All cells of a round in their order, whether recorded already or not.

    Emulated environments come last: no claim rests on running them next to the others, and so a
    time limit cuts them first.
    """
    plan, history = session.plan, session.history
    return sorted(
        arrange(
            open_cells(plan, history, turn, session.left_out), plan.order, plan.seed, turn.slot
        ),
        key=lambda cell: history.emulated(cell.environment, turn.slot),
    )


def _time_for(session: Session, turn: Round, cells: Sequence[Cell]) -> bool:
    """True if a round fits in the remaining time; the first counted round needs only some time."""
    left_s = session.left_s()
    if turn.warmup or turn.number == 0:
        return left_s > 0
    estimate = round_s(session.history, session.pending(turn, cells))
    return left_s > (estimate or 0.0)


def _round(session: Session, turn: Round, cells: Sequence[Cell]) -> None:
    plan = session.plan
    pending, names = session.pending(turn, cells), session.unallocated(turn, cells)
    specs = {spec.name: spec for spec in plan.environments}
    on_host = {kind.name for kind in session.kinds.values() if kind.on_host}
    pool = Pool(specs, session.environments, session.programs(), on_host=on_host)
    needed = list(dict.fromkeys([*names, *(cell.environment for cell in pending)]))
    try:
        for name in rotate(needed, plan.seed, ALLOCATION, turn.slot):
            session.progress.preparing(f"allocating {name}")
            pool.get(name)
        for cell in pending:
            instance = pool.get(cell.environment)
            emulated = not isinstance(instance, Failure) and instance.emulated
            if emulated and (turn.warmup or cell.workload.skip_emulated):
                continue
            _cell(session, turn, pool, cell, cells)
            if given_up(session.history, cell.id):
                session.progress.note(_giving_up(session.history, cell))
    finally:
        with shielded():
            allocations = pool.release()
    for name in needed:
        if name in names:
            session.keep(allocation_record(name, turn, allocations[name]))


def _cell(session: Session, turn: Round, pool: Pool, cell: Cell, cells: Sequence[Cell]) -> None:
    """Run one of the round's `cells` and record it. Errors: _TimeIsUp, with nothing recorded."""
    left_s = session.left_s()
    if left_s <= 0:
        raise _TimeIsUp
    _announce(session, turn, cell, cells)
    instance = pool.get(cell.environment)
    if isinstance(instance, Failure):
        record = msgspec.structs.replace(blank(cell, turn, steady.unix_ns()), failure=instance)
    else:
        ours_s, asleep_s = session.clock.stopped_s(), suspended_s()
        done = repeat(
            cell,
            turn,
            instance,
            kind=session.kinds[cell.environment],
            command=session.ready.commands[cell.id],
            program=session.workloads[cell.workload.program],
            watch=session.watch,
            timeout_s=min(cell.workload.time_limit_s, left_s),
        )
        session.stood_still(done.stopped_s)
        record = judged(
            done.record,
            ours_s=session.clock.stopped_s() - ours_s,
            asleep_s=suspended_s() - asleep_s,
            program_s=done.stopped_s,
        )
        if done.lost:
            with shielded():
                pool.drop(cell.environment)
        if record.failure is not None and session.left_s() <= 0:
            raise _TimeIsUp  # it was the run's time limit that ended the program
    session.keep(record)
    session.progress.cell_finished(record)


def _announce(session: Session, turn: Round, cell: Cell, cells: Sequence[Cell]) -> None:
    plan, history = session.plan, session.history
    every = [each for each in plan.cells if each.id not in session.left_out]
    index = sum(len(history.of(each.id)) for each in every) + 1
    now = turn.slot + 1
    total = sum(
        len(history.of(each.id))
        if given_up(history, each.id)
        else most_repetitions(plan, history, each, now)
        + (0 if history.emulated(each.environment, now) else plan.warmup)
        for each in every
    )
    rest = rest_s(plan, history, cells, session.pending(turn, cells), turn)
    eta_s = None if rest is None else min(rest, max(0.0, session.left_s()))
    session.progress.cell_started(cell, index, total, eta_s)


def _giving_up(history: History, cell: Cell) -> str:
    last = history.of(cell.id)[-1]
    why = last.failure.message if last.failure is not None else ""
    how = "" if is_absent(last) else f" failed {MOST_FAILURES} times in a row"
    return f"given up: {cell.id}{how}: {why}"
