"""The report as Markdown: verdict, ranking and tables, for a repository or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from aferir.model.provenance import Provenance
from aferir.report import io_tables, tables
from aferir.report.formatting import (
    NOTHING,
    change,
    metric_name,
    p_value,
    percent,
    quantity_interval,
)
from aferir.report.model import CellResult, Evaluation


def write_markdown(
    path: Path, evaluation: Evaluation, *, provenance: Provenance | None = None
) -> None:
    """Write the Markdown file. Errors: OSError."""
    path.write_text(markdown(evaluation, provenance=provenance), encoding="utf-8")


def markdown(evaluation: Evaluation, *, provenance: Provenance | None = None) -> str:
    """The report as Markdown text; names from other people's files cannot become markup."""
    parts = [
        f"# {escape(evaluation.title)}",
        _lead(evaluation, provenance),
        "\n".join(f"- {escape(sentence.text)}" for sentence in evaluation.sentences),
        _run_warnings(provenance),
        _ranking(evaluation),
        _durations(evaluation),
        _io(evaluation),
        _rooflines(evaluation),
        _figures(evaluation),
        _allocations(evaluation),
        _failures(evaluation),
        _warnings(evaluation),
        "## Method\n\n" + escape(tables.method(evaluation.rule)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    """Text whose characters stand for themselves in Markdown and in the HTML made from it."""
    one_line = re.sub(r"\s+", " ", text)
    entities = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", entities)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([escape(field) for field in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"## {title}\n\n{_table(header, rows)}" if rows else ""


def _name(name: str, emulated: bool) -> str:
    return f"{name} (emulated)" if emulated else name


def _lead(evaluation: Evaluation, provenance: Provenance | None) -> str:
    version = f", aferir {provenance.version}" if provenance else ""
    count = evaluation.repetitions
    repetitions = f"{count} repetition" if count == 1 else f"{count} repetitions"
    return escape(f"Run {evaluation.name}, {repetitions}, baseline {evaluation.baseline}{version}.")


def _run_warnings(provenance: Provenance | None) -> str:
    if provenance is None:
        return ""
    lines = [f"- **{escape(w.code)}**: {escape(w.message)}" for w in provenance.warnings]
    lines += [
        f"- **left out**: {escape(left.name)}: {escape(left.finding.message)}"
        for left in provenance.left_out
    ]
    return "\n".join(lines)


def _ranking(evaluation: Evaluation) -> str:
    if len(evaluation.ranking) < 2:
        return ""
    rows = [
        (
            tables.places(rank),
            _name(rank.environment, rank.emulated),
            "baseline" if rank.baseline else change(rank.ratio, rank.interval),
            f"{rank.groups} of {rank.of}",
            tables.fastest_in(rank),
        )
        for rank in evaluation.ranking
    ]
    return _section("Ranking", ("place", "environment", "duration", "groups", "fastest in"), rows)


def _durations(evaluation: Evaluation) -> str:
    level = percent(evaluation.rule.level)
    header = (
        "group",
        "environment",
        "n",
        f"median [{level}]",
        f"mean [{level}]",
        f"ratio [{level}]",
        "p, adjusted",
        "verdict",
        "warnings",
    )
    return _section("Durations", header, [_duration(cell) for cell in evaluation.cells])


def _duration(cell: CellResult) -> tuple[str, ...]:
    duration = cell.duration
    return (
        cell.group,
        _name(cell.environment, cell.emulated),
        str(duration.n),
        quantity_interval(duration.median, duration.median_interval, "s"),
        quantity_interval(duration.mean, duration.mean_interval, "s"),
        change(cell.ratio.estimate, cell.ratio.interval) if cell.ratio else NOTHING,
        p_value(cell.verdict.p_adjusted) if cell.verdict else NOTHING,
        tables.verdict_words(cell),
        tables.codes(cell),
    )


def _figures(evaluation: Evaluation) -> str:
    rows = [
        (
            cell.group,
            _name(cell.environment, cell.emulated),
            metric_name(metric.metric),
            str(metric.summary.n),
            quantity_interval(metric.summary.mean, metric.summary.mean_interval, metric.unit),
        )
        for cell, metric in tables.figures(evaluation)
    ]
    header = ("group", "environment", "figure", "n", f"mean [{percent(evaluation.rule.level)}]")
    return _section("What the programs reported", header, rows)


def _io(evaluation: Evaluation) -> str:
    study = evaluation.io
    if study is None:
        return ""
    parts = [
        _section("What I/O costs", io_tables.cost_header(study), io_tables.costs(study)),
        escape(io_tables.method(study)),
        _section("Growth with cores", io_tables.PROJECTION_HEADER, io_tables.projections(study)),
    ]
    return "\n\n".join(part for part in parts if part)


def _rooflines(evaluation: Evaluation) -> str:
    rows = tables.rooflines(evaluation)
    table = _section("Where programs are bound", tables.ROOFLINE_HEADER, rows)
    return f"{table}\n\n{escape(tables.ROOFLINES)}" if rows else ""


def _allocations(evaluation: Evaluation) -> str:
    phases = tables.phases(evaluation)
    rows = [
        (
            _name(allocation.environment, allocation.emulated),
            str(allocation.total.n),
            *(tables.phase_mean(allocation, phase) for phase in phases),
            quantity_interval(allocation.total.mean, allocation.total.mean_interval, "s"),
            quantity_interval(allocation.release.mean, allocation.release.mean_interval, "s"),
        )
        for allocation in evaluation.allocations
    ]
    header = ("environment", "n", *map(metric_name, phases), "total", "release")
    return _section("Allocation and release", header, rows)


def _failures(evaluation: Evaluation) -> str:
    rows = [
        (
            where,
            str(counted.repetitions),
            counted.failure.code,
            counted.failure.message,
            counted.failure.remedy or NOTHING,
        )
        for where, counted in tables.failures(evaluation)
    ]
    header = ("where", "repetitions", "failure", "message", "remedy")
    return _section("Failures", header, rows)


def _warnings(evaluation: Evaluation) -> str:
    rows = [
        (warning.code, warning.message, warning.advice or NOTHING, "; ".join(places))
        for warning, places in tables.warnings(evaluation)
    ]
    return _section("Warnings", ("warning", "message", "advice", "where"), rows)
