"""The report as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aferir.model.plan import environment_family
from aferir.model.provenance import Provenance
from aferir.model.record import Warning
from aferir.report import formatting, io_tables, tables
from aferir.report.charts.allocations import allocation_chart
from aferir.report.charts.cpu import cpu_chart
from aferir.report.charts.curves import curve_charts
from aferir.report.charts.distributions import distribution_charts
from aferir.report.charts.io_costs import io_charts
from aferir.report.charts.ratios import ratio_chart
from aferir.report.charts.roofline import roofline_charts
from aferir.report.charts.style import ENVIRONMENT_COLOURS
from aferir.report.model import Evaluation
from aferir.report.published import (
    ALLOCATIONS_DIFFER,
    CLOCKS_DIFFER,
    ELASTICITY_DIFFERS,
    OVERHEADS_DIFFER,
    Published,
    PublishedFigure,
    beside,
    load,
)


class _Chart(msgspec.Struct, frozen=True):
    title: str
    caption: str
    svgs: tuple[Markup, ...]


def write_html(
    path: Path,
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> None:
    """Write the page; `reference` is the folder of published results. Errors: OSError."""
    page = html(evaluation, provenance=provenance, reference=reference)
    path.write_text(page, encoding="utf-8")


def html(
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> str:
    """The page as text. Every name and message is escaped: they come from other people's files."""
    published = load(reference)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        evaluation=evaluation,
        provenance=msgspec.to_builtins(provenance) if provenance else None,
        started=_started(provenance),
        alerts=alerts(provenance),
        accents=_accents(evaluation),
        charts=_charts(evaluation, published),
        published=published,
        published_beside=_beside(published, evaluation),
        allocations_differ=ALLOCATIONS_DIFFER,
        overheads_differ=OVERHEADS_DIFFER,
        level=formatting.percent(evaluation.rule.level),
        **_rows(evaluation),
        **_io_rows(evaluation),
    )


def alerts(provenance: Provenance | None) -> list[Warning]:
    """What concerns the run as a whole: its warnings, and what had to be left out."""
    if provenance is None:
        return []
    left_out = [
        Warning(
            "left out",
            f"{left.kind} {left.name}: {left.finding.message}",
            left.finding.remedy,
        )
        for left in provenance.left_out
    ]
    return [*provenance.warnings, *left_out]


def _rows(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "groups": tables.grouped(evaluation),
        "figures": tables.figures(evaluation),
        "observed": tables.observed(evaluation),
        "failures": tables.failures(evaluation),
        "warnings": tables.warnings(evaluation),
        "phases": tables.phases(evaluation),
        "phase_mean": tables.phase_mean,
        "places": tables.places,
        "fastest_in": tables.fastest_in,
        "verdict": tables.verdict_words,
        "codes": tables.codes,
        "method": tables.method(evaluation.rule),
        "change": formatting.change,
        "metric_name": formatting.metric_name,
        "p_value": formatting.p_value,
        "percent": formatting.percent,
        "quantity": formatting.quantity,
        "quantity_interval": formatting.quantity_interval,
    }


def _io_rows(evaluation: Evaluation) -> dict[str, Any]:
    study = evaluation.io
    if study is None:
        return {}
    return {
        "io_header": io_tables.cost_header(study),
        "io_costs": io_tables.costs(study),
        "io_method": io_tables.method(study),
        "io_projection_header": io_tables.PROJECTION_HEADER,
        "io_projections": io_tables.projections(study),
    }


def _beside(
    published: Published, evaluation: Evaluation
) -> list[tuple[str, tuple[PublishedFigure, ...]]]:
    """What differs, and figures that the run has as well."""
    known = (
        (CLOCKS_DIFFER, beside(published.clocks, evaluation)),
        (ELASTICITY_DIFFERS, beside(published.elasticity, evaluation)),
    )
    return [(differs, figures) for differs, figures in known if figures]


def _started(provenance: Provenance | None) -> str:
    if provenance is None or not provenance.segments:
        return ""
    return formatting.instant(provenance.segments[0].started_unix_ns)


def _io_charts(evaluation: Evaluation, hatched: str) -> list[tuple[str, str, list[str]]]:
    if evaluation.io is None:
        return []
    return [
        (f"I/O: {one.title}", one.caption + hatched, list(one.svgs))
        for one in io_charts(evaluation.io)
    ]


def _accents(evaluation: Evaluation) -> dict[str, int]:
    """Place of each environment's colour; a family has the colour of its first variant."""
    accents = {
        name: place % ENVIRONMENT_COLOURS for place, name in enumerate(evaluation.environments)
    }
    for name, place in list(accents.items()):
        accents.setdefault(environment_family(name), place)
    return accents


def _charts(evaluation: Evaluation, published: Published) -> list[_Chart]:
    emulated = any(cell.emulated for cell in evaluation.cells)
    hatched = " Hatched: emulated in software, no measure of a real VM." if emulated else ""
    level = formatting.percent(evaluation.rule.level)
    threshold = formatting.percent(evaluation.rule.threshold)
    ratios = (
        f"Duration over the baseline's with its {level} interval; to the right of the line at 1 "
        f"is slower. Grey band: differences below {threshold}, which do not matter.{hatched}"
    )
    distributions = (
        "One point per repetition, jittered vertically; box from the first to the third "
        "quartile, line at the median, whose interval is in brackets. A triangle at the edge "
        f"stands for a repetition far beyond.{hatched}"
    )
    allocations = (
        "Mean time from the request until a command can be run, by phase, and time to release. "
        f"Each environment has a time axis of its own. Line: {level} interval of the "
        f"total.{hatched}"
    )
    curves = (
        "Median of the repetitions, band or line from the first to the third quartile; axes are "
        "logarithmic where values are far apart."
    )
    cpu = f"Mean share of each state while the program ran; they close to 100 %.{hatched}"
    sole = all(cell.baseline for cell in evaluation.cells)
    repetitions = ("Every repetition", distributions, distribution_charts(evaluation))
    drawn = [
        ("Cost of each environment", ratios, [ratio_chart(evaluation)]),
        *(() if sole else (repetitions,)),
        *_io_charts(evaluation, hatched),
        ("Where programs are bound", tables.ROOFLINES, roofline_charts(evaluation)),
        ("Curves and series", curves, curve_charts(evaluation)),
        *((repetitions,) if sole else ()),  # nothing to compare there: what varies comes first
        ("Allocation phases", allocations, [allocation_chart(evaluation, published.allocations)]),
        ("CPU time seen from the host", cpu, [cpu_chart(evaluation, "host")]),
        ("CPU time seen from the instance", cpu, [cpu_chart(evaluation, "instance")]),
    ]
    # The charts escape what they print; the template must not do it again.
    return [
        _Chart(title, caption, tuple(Markup(svg) for svg in svgs))  # noqa: S704
        for title, caption, svgs in drawn
        if any(svgs)
    ]
