"""Samples and summaries as CSV for other programs: base units, every digit, one header line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from aferir.model.record import Record
from aferir.model.stamps import Stamp
from aferir.report.model import EMULATED, CellResult, Evaluation, MetricSummary
from aferir.statistics.summary import Summary

SAMPLE_COLUMNS = (
    "cell",
    "group",
    "environment",
    "workload",
    "factors",
    "repetition",
    "warmup",
    "started_unix_ns",
    "side",
    "metric",
    "value",
    "unit",
    "label",
    "along",
    "at",
    "emulated",
    "warnings",
    "failure",
    "began_unix_ns",
    "began_bound_ns",
    "at_unix_ns",
    "at_bound_ns",
)
SUMMARY_COLUMNS = (
    "cell",
    "group",
    "environment",
    "emulated",
    "side",
    "metric",
    "unit",
    "n",
    "mean",
    "mean_low",
    "mean_high",
    "sd",
    "minimum",
    "quantile_05",
    "quantile_25",
    "median",
    "median_low",
    "median_high",
    "quantile_75",
    "quantile_95",
    "maximum",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "p_adjusted",
    "outcome",
    "warnings",
)


def write_samples_csv(path: Path, records: Iterable[Record]) -> None:
    """One line for each sample or value of a series, and one for each failed repetition.

    `factors` is JSON; codes of warnings are joined by spaces. `at` is the place, a number or a
    word, of a value of a series. `began_unix_ns` is the start of the program, or of an allocation,
    on the clock of the host where aferir ran, with its largest error; `at_unix_ns` is the time of a
    value of a series over time, by the same clock; empty: unknown. The line of a failed repetition
    has no metric. Errors: OSError.
    """
    _write(path, SAMPLE_COLUMNS, (row for record in records for row in _sample_rows(record)))


def write_summary_csv(path: Path, evaluation: Evaluation) -> None:
    """One line for each cell and metric, allocations included. Errors: OSError.

    Ratio, p values, outcome and warnings are on the line of `duration_s`.
    """
    rows = [row for cell in evaluation.cells for row in _cell_rows(cell)]
    for allocation in evaluation.allocations:
        where = (
            f"{allocation.environment}/allocation",
            "allocation",
            allocation.environment,
            _said(allocation.emulated),
            "environment",
        )
        measured = [(phase.metric, phase.summary) for phase in allocation.phases]
        measured += [("total_s", allocation.total), ("release_s", allocation.release)]
        rows += [
            (*where, metric, "s", *_figures(summary), *_NO_RATIO) for metric, summary in measured
        ]
    _write(path, SUMMARY_COLUMNS, rows)


_NO_RATIO = (None,) * 7


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        # An empty field for None, and `repr` of a float, which keeps every digit, are csv's own.
        writer.writerows(rows)


def _said(truth: bool) -> str:
    return "true" if truth else "false"


def _sample_rows(record: Record) -> list[tuple[object, ...]]:
    codes = [warning.code for warning in record.warnings]
    before = (
        record.cell,
        record.group,
        record.environment,
        record.workload,
        msgspec.json.encode(record.factors).decode(),
        record.repetition,
        _said(record.warmup),
        record.started_unix_ns,
    )
    after = (_said(EMULATED in codes), " ".join(dict.fromkeys(codes)))
    last = (record.failure.code if record.failure else None, *_stamped(record.began))
    untimed = _stamped(None)
    nowhere = (None, None, None)
    rows: list[tuple[object, ...]] = [
        (*before, s.side, s.metric, s.value, s.unit, *nowhere, *after, *last, *untimed)
        for s in record.samples
    ]
    rows += [
        (
            *(*before, "program", s.metric, value, s.unit, s.label, s.along, place),
            *(*after, *last, *_stamped(s.moment(place))),
        )
        for s in record.series
        for place, value in zip(s.at, s.values, strict=True)
    ]
    return rows or [(*before, None, None, None, None, *nowhere, *after, *last, *untimed)]


def _stamped(time: Stamp | None) -> tuple[int | None, int | None]:
    return (None, None) if time is None else (time.unix_ns, time.bound_ns)


def _cell_rows(cell: CellResult) -> list[tuple[object, ...]]:
    where = (cell.cell, cell.group, cell.environment, _said(cell.emulated))
    ratio, verdict = cell.ratio, cell.verdict
    interval = ratio.interval if ratio else None
    duration = (
        *where,
        "program",
        "duration_s",
        "s",
        *_figures(cell.duration),
        ratio.estimate if ratio else None,
        interval.low if interval else None,
        interval.high if interval else None,
        verdict.p_value if verdict else None,
        verdict.p_adjusted if verdict else None,
        verdict.outcome if verdict else None,
        " ".join(dict.fromkeys(counted.warning.code for counted in cell.warnings)),
    )
    others = [
        (*where, metric.side, metric.metric, metric.unit, *_figures(metric.summary), *_NO_RATIO)
        for metric in _others(cell)
    ]
    return [duration, *others]


def _others(cell: CellResult) -> tuple[MetricSummary, ...]:
    return (*cell.metrics, *cell.observed)


def _figures(summary: Summary) -> tuple[object, ...]:
    mean, median = summary.mean_interval, summary.median_interval
    return (
        summary.n,
        summary.mean,
        mean.low if mean else None,
        mean.high if mean else None,
        summary.sd,
        summary.minimum,
        summary.quantile_05,
        summary.quantile_25,
        summary.median,
        median.low if median else None,
        median.high if median else None,
        summary.quantile_75,
        summary.quantile_95,
        summary.maximum,
    )
