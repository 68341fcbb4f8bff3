"""The evaluation in the text format OpenMetrics 1.0, e.g. for node_exporter's textfile collector.

Durations are summaries with quantiles. All other figures, those of power meters and clocks among
them, may be negative, which a summary must not be: they are gauges with the same quantiles, and
ratios to the baseline gauges with their interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from aferir.model.record import ALLOCATION
from aferir.report.model import CellResult, Evaluation
from aferir.statistics.summary import Summary
from aferir.store.history import conditions_of
from aferir.store.run import Run

Labels = Mapping[str, str]
_QUANTILES = (
    ("0.05", "quantile_05"),
    ("0.25", "quantile_25"),
    ("0.5", "median"),
    ("0.75", "quantile_75"),
    ("0.95", "quantile_95"),
)


def write_openmetrics(path: Path, run: Run, evaluation: Evaluation) -> None:
    """Write the evaluation in OpenMetrics format to a file. Errors: OSError."""
    path.write_text(openmetrics(run, evaluation), encoding="utf-8")


def openmetrics(run: Run, evaluation: Evaluation) -> str:
    """The evaluation as text; every line carries the run's folder and experiment as labels."""
    common = {"run": run.folder.resolve().name, "experiment": evaluation.name}
    lines = [
        *_run_family(run, common),
        *_durations(evaluation, common),
        *_figures(evaluation, common),
        *_ratios(evaluation, common),
        *_counts(evaluation, common),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def _run_family(run: Run, common: Labels) -> list[str]:
    told = conditions_of(run)
    labels = {
        **common,
        "host": told.host,
        "kernel": told.kernel,
        "commit": told.commit,
        "version": told.version,
    }
    name = "aferir_run_started_timestamp_seconds"
    return [
        *_head(name, "gauge", "Start of the run, labelled with its conditions.", "seconds"),
        _line(name, labels, told.started_unix_ns / 1e9),
    ]


def _durations(evaluation: Evaluation, common: Labels) -> list[str]:
    name = "aferir_duration_seconds"
    lines = _head(name, "summary", "Duration of the successful repetitions.", "seconds")
    for cell in evaluation.cells:
        labels, summary = _of_cell(cell, common), cell.duration
        lines += _quantiles(name, labels, summary)
        if summary.n and summary.mean is not None:
            lines.append(_line(f"{name}_count", labels, summary.n))
            lines.append(_line(f"{name}_sum", labels, summary.mean * summary.n))
    return lines


def _figures(evaluation: Evaluation, common: Labels) -> list[str]:
    """Lines for figures other than durations, in base units, with name, unit and side as labels."""
    measured = list(_measured(evaluation, common))
    name = "aferir_figure"
    lines = _head(name, "gauge", "Other figures of programs and probes, in their base units.")
    for labels, summary in measured:
        lines += _quantiles(name, labels, summary)
    lines += _head(f"{name}_values", "gauge", "Number of values of each of these figures.")
    lines += [_line(f"{name}_values", labels, one.n) for labels, one in measured if one.n]
    return lines


def _measured(evaluation: Evaluation, common: Labels) -> Iterator[tuple[Labels, Summary]]:
    """Labels and summary of every figure but durations."""
    for cell in evaluation.cells:
        for metric in (*cell.metrics, *cell.observed):
            own = {"figure": metric.metric, "figure_unit": metric.unit, "side": metric.side}
            yield _of_cell(cell, common) | own, metric.summary
    for one in evaluation.allocations:
        labels = {**common, "group": ALLOCATION, "environment": one.environment}
        labels |= {"emulated": _said(one.emulated), "figure_unit": "s", "side": "environment"}
        measured = [(phase.metric, phase.summary) for phase in one.phases]
        for figure, summary in (*measured, ("total_s", one.total), ("release_s", one.release)):
            yield {**labels, "figure": figure}, summary


def _ratios(evaluation: Evaluation, common: Labels) -> list[str]:
    name = "aferir_duration_ratio"
    lines = _head(
        name, "gauge", "Ratio of durations to the baseline: estimate, and ends of its interval."
    )
    for cell in evaluation.cells:
        if cell.ratio is None or cell.ratio.estimate is None:
            continue
        labels = _of_cell(cell, common) | {"baseline": evaluation.baseline}
        interval = cell.ratio.interval
        ends = [("low", interval.low), ("high", interval.high)] if interval else []
        for bound, value in (("estimate", cell.ratio.estimate), *ends):
            lines.append(_line(name, labels | {"bound": bound}, value))
    return lines


def _counts(evaluation: Evaluation, common: Labels) -> list[str]:
    name = "aferir_failed_repetitions"
    lines = _head(name, "gauge", "Repetitions without a result.")
    for cell in evaluation.cells:
        count = sum(one.repetitions for one in cell.failures)
        lines.append(_line(name, _of_cell(cell, common), count))
    return lines


def _of_cell(cell: CellResult, common: Labels) -> dict[str, str]:
    return {
        **common,
        "group": cell.group,
        "environment": cell.environment,
        "emulated": _said(cell.emulated),
    }


def _said(truth: bool) -> str:
    return "true" if truth else "false"


def _quantiles(name: str, labels: Labels, summary: Summary) -> Iterator[str]:
    for quantile, field in _QUANTILES:
        value = getattr(summary, field)
        if value is not None:
            yield _line(name, {**labels, "quantile": quantile}, value)


def _head(name: str, kind: str, told: str, unit: str = "") -> list[str]:
    lines = [f"# TYPE {name} {kind}", f"# HELP {name} {told}"]
    return [lines[0], f"# UNIT {name} {unit}", lines[1]] if unit else lines


def _line(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
