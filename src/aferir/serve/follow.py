"""Follows the records of a run while they are written, reading each line once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.model.plan import Plan
from aferir.model.record import Failure
from aferir.store.run import RECORDS


class Counted(msgspec.Struct, frozen=True):
    """Finished repetitions of one cell, without warm-ups."""

    done: int = 0
    failed: int = 0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a run, from its records up to a place in the file."""

    read_bytes: int = 0
    records: int = 0
    cells: dict[str, Counted] = {}
    last_unix_ns: int = 0
    """Start of the last repetition."""


class _Line(msgspec.Struct, frozen=True):
    """Parts of a record that progress needs."""

    cell: str
    warmup: bool = False
    started_unix_ns: int = 0
    failure: Failure | None = None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a run as its page shows it."""

    complete: bool
    text: str
    cells: tuple[tuple[str, int, int], ...]
    """Name of each cell, its number of repetitions, and of failed ones; in the plan's order."""


def follow(folder: Path, before: Progress) -> Progress:
    """Progress with the lines that were completed after `before`; a file that shrank is read anew.

    Lines that cannot be read are counted as records of no cell. Errors: OSError.
    """
    path = folder / RECORDS
    if not path.is_file():
        return Progress()
    if path.stat().st_size < before.read_bytes:
        before = Progress()
    with path.open("rb") as stream:
        stream.seek(before.read_bytes)
        content = stream.read()
    whole = content[: content.rfind(b"\n") + 1]
    cells = dict(before.cells)
    count, last = before.records, before.last_unix_ns
    for line in whole.splitlines():
        count += 1
        try:
            one = msgspec.json.decode(line, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        last = max(last, one.started_unix_ns)
        if not one.warmup:
            had = cells.get(one.cell, Counted())
            cells[one.cell] = Counted(had.done + 1, had.failed + (one.failure is not None))
    return Progress(
        read_bytes=before.read_bytes + len(whole), records=count, cells=cells, last_unix_ns=last
    )


def state(plan: Plan, progress: Progress, *, complete: bool) -> State:
    """Describe the progress of a run in words and by cell, without records of allocations."""
    rows = tuple(
        (cell.id, counted.done, counted.failed)
        for cell in plan.cells
        for counted in (progress.cells.get(cell.id, Counted()),)
    )
    done, failed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    least, most = (n * len(rows) for n in (plan.stop.minimum, plan.stop.maximum))
    planned = f"{least}" if least == most else f"{least} to {most}"
    text = f"{done} of {planned} repetitions, {failed} failed"
    return State(complete=complete, text=text if not complete else f"complete: {text}", cells=rows)
