"""Exports the samples of runs as one tidy table: to Parquet, or for SQL queries."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import msgspec

from aferir.errors import UsageError
from aferir.linux.journal import refuse_device, unique
from aferir.model.record import Record
from aferir.model.stamps import Stamp
from aferir.store.run import Run

COLUMNS = {
    "run": "VARCHAR",
    "experiment": "VARCHAR",
    "cell": "VARCHAR",
    "group": "VARCHAR",
    "environment": "VARCHAR",
    "workload": "VARCHAR",
    "factors": "VARCHAR",
    "repetition": "BIGINT",
    "warmup": "BOOLEAN",
    "started_unix_ns": "BIGINT",
    "metric": "VARCHAR",
    "value": "DOUBLE",
    "unit": "VARCHAR",
    "side": "VARCHAR",
    "label": "VARCHAR",
    "along": "VARCHAR",
    "at": "DOUBLE",
    "category": "VARCHAR",
    "warnings": "VARCHAR",
    "failure": "VARCHAR",
    "began_unix_ns": "BIGINT",
    "began_bound_ns": "BIGINT",
    "at_unix_ns": "BIGINT",
    "at_bound_ns": "BIGINT",
}
"""Name and SQL type of each column. `factors` is JSON, `warnings` are codes joined by commas; a
failed repetition is one row without a metric. Values of a series have the quantity of their places
in `along`, and the place in `at` (a number) or `category` (a word). `began_unix_ns` is the start of
the program, or of an allocation, on the clock of the host where aferir ran, with its largest error;
`at_unix_ns` is the time of a value of a series over time, by the same clock.
"""


def rows(run: Run) -> Iterator[dict[str, object]]:
    """One row for each sample and each value of a series, in the order of the records."""
    for record in run.records:
        common = _common(run, record)
        for sample in record.samples:
            yield common | {
                "metric": sample.metric,
                "value": sample.value,
                "unit": sample.unit,
                "side": sample.side,
            }
        for series in record.series:
            for place, value in zip(series.at, series.values, strict=True):
                yield common | {
                    "metric": series.metric,
                    "value": value,
                    "unit": series.unit,
                    "side": "program",
                    "label": series.label,
                    "along": series.along,
                    "category" if isinstance(place, str) else "at": place,
                    **_stamped("at", series.moment(place)),
                }
        if record.failure is not None and not record.samples:
            yield common


def export_parquet(runs: Sequence[Run], path: Path) -> int:
    """Write all samples of `runs` to one Parquet file; returns the number of rows.

    Errors: UsageError if the file cannot be written; an earlier file then stays unchanged.
    """
    beside = path.with_name(unique(".writing-"))
    with _table(runs) as connection:
        try:
            refuse_device(path)
            connection.execute("COPY samples TO $path (FORMAT parquet)", {"path": str(beside)})
            beside.replace(path)
        except (duckdb.Error, OSError) as reason:
            raise UsageError(
                f"{path} cannot be written: {_first_line(reason)}", remedy="name another file"
            ) from None
        finally:
            beside.unlink(missing_ok=True)
        count = connection.execute("SELECT count(*) FROM samples").fetchone()
    return int(count[0]) if count else 0


def query(sql: str, runs: Sequence[Run]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Column names and rows of an SQL query over the table `samples` of `runs`.

    Errors: UsageError if the query is wrong.
    """
    with _table(runs) as connection:
        try:
            result = connection.execute(sql)
            names = tuple(column[0] for column in result.description or ())
            return names, result.fetchall()
        except duckdb.Error as reason:
            raise UsageError(
                f"the query cannot be answered: {_first_line(reason)}",
                remedy=f"the table `samples` has the columns {', '.join(COLUMNS)}",
            ) from None


def _table(runs: Sequence[Run]) -> duckdb.DuckDBPyConnection:
    """In-memory database with the single table `samples`."""
    connection = duckdb.connect()
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as stream:
        for run in runs:
            for row in rows(run):
                stream.write(msgspec.json.encode(row) + b"\n")
        stream.flush()
        connection.read_json(stream.name, columns=COLUMNS, format="newline_delimited").create(
            "samples"
        )
    return connection


def _common(run: Run, record: Record) -> dict[str, object]:
    return {
        "run": run.folder.name,
        "experiment": run.plan.name,
        "cell": record.cell,
        "group": record.group,
        "environment": record.environment,
        "workload": record.workload,
        "factors": json.dumps(record.factors, sort_keys=True),
        "repetition": record.repetition,
        "warmup": record.warmup,
        "started_unix_ns": record.started_unix_ns,
        "warnings": ",".join(warning.code for warning in record.warnings),
        "failure": record.failure.code if record.failure else None,
        **_stamped("began", record.began),
    }


def _stamped(what: str, time: Stamp | None) -> dict[str, int | None]:
    """Columns of a time with its largest error."""
    return {
        f"{what}_unix_ns": time.unix_ns if time else None,
        f"{what}_bound_ns": time.bound_ns if time else None,
    }


def _first_line(reason: Exception) -> str:
    return str(reason).split("\n", maxsplit=1)[0]
