"""Renders the pages as HTML; all names, which may come from other people, are escaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aferir.report import formatting
from aferir.report.charts.history import history_charts
from aferir.report.history import History, figure_name, no_change, shortened
from aferir.report.model import CellComparison, RunComparison
from aferir.report.write.picture import style
from aferir.serve.content import Listed, Shown
from aferir.serve.follow import State

_TEMPLATES = Path(__file__).parent / "templates"
_FEW = 3
"""Number of names of environments and workloads that the list of runs shows."""
_SENTENCES = 12
"""Number of sentences of a report that a run's page repeats; the report has the rest."""


def index(runs: Sequence[Listed], folder: Path, *, served: bool) -> str:
    """The list of all runs; `served` pages can also compare any two."""
    return _render(
        "index.html.j2", "Runs", here="runs", runs=runs, folder=str(folder), served=served
    )


def run(shown: Shown, state: State | None, *, served: bool, before: str = "") -> str:
    """The page of one run; `before` is the address of its comparison with an earlier run.

    `state` is the progress of an unfinished run.
    """
    return _render(
        "run.html.j2",
        shown.listed.title,
        root="../../",
        run=shown,
        state=state,
        served=served,
        before=before,
        most=_SENTENCES,
    )


def history(told: History, *, served: bool) -> str:
    """The page of a figure over all runs, with a chart for each series of several runs."""
    several = tuple(one for one in told.series if len(one.runs) > 1)
    single = len(told.series) - len(several)
    told = msgspec.structs.replace(told, series=several)
    return _render(
        "history.html.j2",
        f"History of {figure_name(told)}",
        here="history",
        told=told,
        single=single,
        charts=[Markup(svg) for svg in history_charts(told)],  # noqa: S704 - they escape their text
        served=served,
    )


def comparison(compared: RunComparison, *, root: str = "") -> str:
    """The page of a comparison of two runs."""
    return _render("compare.html.j2", "Comparison", root=root, compared=compared)


def problem(title: str, message: str, remedy: str = "", *, root: str = "") -> str:
    """Render an error page with the message and its remedy."""
    return _render("problem.html.j2", title, root=root, message=message, remedy=remedy)


def style_sheet() -> str:
    """Style sheet of all pages: that of reports, with additions for the pages."""
    own = (_TEMPLATES / "serve.css").read_text(encoding="utf-8")
    return f"{style('colours.css')}{style('page.css')}{own}"


def script() -> str:
    """Script of all pages: the filter, and the progress of a run."""
    return (_TEMPLATES / "script.js").read_text(encoding="utf-8")


def address(name: str) -> str:
    """Name of a run's folder as one segment of an address; any bytes are permitted."""
    return quote(os.fsencode(name), safe="")


def name_of(segment: str) -> str:
    """Name of a run's folder from a segment of an address."""
    return os.fsdecode(unquote_to_bytes(segment))


def _render(template: str, title: str, *, here: str = "", root: str = "", **values: object) -> str:
    return _environment().get_template(template).render(title=title, here=here, root=root, **values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "address": address,
        "commit": lambda name: shortened("commit", name),
        "few": _few,
        "instant": formatting.instant,
        "no_change": no_change,
        "outcome": _outcome,
        "zip": lambda one, other: zip(one, other, strict=True),
    }
    return environment


def _few(names: Iterable[str]) -> str:
    shown = list(names)
    more = len(shown) - _FEW
    return ", ".join(shown[:_FEW]) + (f" and {more} more" if more > 0 else "")


def _outcome(one: CellComparison) -> str:
    """Outcome in a comparison's sentence, without the names, which have columns of their own."""
    return one.text.partition(": ")[2] if ": " not in one.environment + one.group else one.text
