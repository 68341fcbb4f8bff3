"""Puts the figures of a run beside published ones, with a verdict for each row."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from aferir.report.model import Evaluation
from aferir.report.published.model import (
    Beside,
    Compared,
    Fields,
    Known,
    Ours,
    Row,
    Seen,
    Table,
    TableBeside,
    Verdict,
)
from aferir.report.published.tables import TABLES
from aferir.statistics.estimates import Estimate, difference, quotient
from aferir.statistics.intervals import Interval

EMULATED = "emulated in software here"


def load(folder: Path | None, tables: Sequence[Table] = TABLES) -> tuple[Known, ...]:
    """Read every declared table of the folder; missing files are skipped.

    Errors: KeyError or ValueError if a file lacks a column or a number.
    """
    if folder is None:
        return ()
    found = ((table, folder / f"{table.name}.csv") for table in tables)
    return tuple(
        Known(table, tuple(table.rows(read(path)))) for table, path in found if path.is_file()
    )


def read(path: Path) -> list[Fields]:
    """Rows of a CSV file. Errors: OSError."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def beside(
    known: Sequence[Known], evaluation: Evaluation, *, processors: int | None = None
) -> tuple[TableBeside, ...]:
    """Tables with a figure that the run measured, too, each with all of its rows.

    `processors` is the number of processors of the machine; None: unknown.
    """
    seen = Seen(evaluation=evaluation, processors=processors)
    found = []
    for one in known:
        candidates = [tuple(row.find(seen)) if row.find else () for row in one.rows]
        if any(candidates):
            rows = tuple(map(_row, one.rows, candidates, [evaluation.rule.level] * len(one.rows)))
            table = one.table
            found.append(
                TableBeside(name=table.name, title=table.title, differs=table.differs, rows=rows)
            )
    return tuple(found)


def _row(row: Row, candidates: Sequence[Ours], level: float) -> Beside:
    if row.find is None:
        return _beside(row, "not comparable", row.answer)
    picked = [one for one in candidates if all(c.holds(one) for c in row.pick)]
    if not picked:
        return _beside(row, "not measured", row.answer)
    wrong = [_unlike(row, one) for one in picked]
    if row.value is not None and not all(wrong):
        same = [one for one, unlike in zip(picked, wrong, strict=True) if not unlike]
        return _beside(
            row, "comparable", "", [_compared(row, one, level, alike=True) for one in same]
        )
    nearest = min(range(len(picked)), key=lambda i: len(wrong[i]))
    why = "; ".join(wrong[nearest]) or "no figure was published"
    return _beside(
        row, "not comparable", why, [_compared(row, picked[nearest], level, alike=False)]
    )


def _unlike(row: Row, ours: Ours) -> list[str]:
    found = [condition.said(ours) for condition in row.alike if not condition.holds(ours)]
    return [*found, EMULATED] if ours.emulated else found


def _beside(row: Row, verdict: Verdict, why: str, ours: Sequence[Compared] = ()) -> Beside:
    return Beside(
        what=row.what,
        value=row.value,
        unit=row.unit,
        sd=row.sd,
        n=row.n,
        extent=row.extent,
        source=row.source,
        verdict=verdict,
        why=why,
        ours=tuple(ours),
    )


def _compared(row: Row, ours: Ours, level: float, *, alike: bool) -> Compared:
    theirs = row.estimate()
    positive = ours.figure.value > 0 and theirs is not None and theirs.value > 0
    relative = row.unit != "%" and positive
    found = interval = None
    if alike and theirs is not None:
        apart = (quotient if relative else difference)(ours.figure, theirs)
        found, interval = apart.value, _apart(ours, theirs, apart, level, relative=relative)
    return Compared(
        environment=ours.environment,
        group=ours.group,
        emulated=ours.emulated,
        n=ours.figure.n,
        value=ours.figure.value,
        interval=ours.interval or ours.figure.interval(level),
        relative=relative,
        difference=found,
        difference_interval=interval,
    )


def _apart(
    ours: Ours, theirs: Estimate, apart: Estimate, level: float, *, relative: bool
) -> Interval | None:
    """Interval of the difference, from our figure's alone if the published one is exact."""
    own = ours.interval
    if own is not None and theirs.error == 0.0:
        factor, less = (1 / theirs.value, 0.0) if relative else (1.0, theirs.value)
        low, high = (end * factor - less for end in (own.low, own.high))
        return Interval(low, high, own.level, own.method)
    return apart.ratio_interval(level) if relative else apart.interval(level)
