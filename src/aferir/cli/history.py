"""Find where a figure changed over the runs of a folder, and with which run, commit and kernel.

Change points are found by E-divisive with a permutation test (Matteson and James 2014) that allows
for runs that resemble their neighbours. At the level of 0.1 %, at most one run in 1,000 is named
by chance. Runs that differ in work, environment, experiment or host are in separate series.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.cli.list_ import add_runs_folder

if TYPE_CHECKING:
    from aferir.report.history import History, Series

NAME = "history"
HELP = "where a figure changed over many runs"
_EXAMPLES = """\
examples:
  aferir history runs
  aferir history runs --ratio --only container --chart history.svg
  aferir history runs --metric throughput_bps --by kernel
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir history`."""
    parser.epilog = _EXAMPLES
    add_runs_folder(parser)
    parser.add_argument(
        "--metric",
        default="duration_s",
        metavar="NAME",
        help="figure of the programs (default: duration_s); each run counts with its median",
    )
    parser.add_argument(
        "--ratio",
        action="store_true",
        help="the ratio to the baseline of the same run, in which drift of the machine cancels",
    )
    parser.add_argument(
        "--by",
        choices=("run", "commit", "kernel", "host"),
        default="run",
        help="`run` finds change points; the others put the runs of each together (default: run)",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="series whose experiment, group or environment contains it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--chart", type=Path, metavar="FILE", help="also draw all series, as .svg or .html"
    )


def execute(options: argparse.Namespace) -> int:
    """Print the change points of each series, or the figures grouped by commit, kernel or host."""
    import msgspec

    from aferir.report.history import history
    from aferir.report.write.picture import check_picture_path
    from aferir.store.history import figures

    if options.chart is not None:
        check_picture_path(options.chart)
    found, unread = figures(options.runs, options.metric, ratio=options.ratio)
    chosen = [
        one
        for one in found
        if any(options.only in part for part in (one.experiment, one.group, one.environment))
    ]
    told = history(chosen, unread, metric=options.metric, ratio=options.ratio, by=options.by)
    if options.chart is not None and told.series:
        _draw(told, options.chart)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(told)).decode())
        return 0
    for one in told.unread:
        print(f"{one.run} is left out: {one.reason}")
    for series in told.series:
        _print(told, series)
    if not told.series:
        print(
            f"No run in {options.runs} has the figure {options.metric}. "
            f"`aferir list --runs {options.runs}` shows the runs, "
            "and report.json of a run its figures."
        )
    return 0


def _draw(told: History, path: Path) -> None:
    from aferir.linux.refusal import refusals
    from aferir.report.charts.history import history_charts
    from aferir.report.charts.rows import stacked
    from aferir.report.history import figure_name
    from aferir.report.write.picture import write_picture

    title = f"History of {figure_name(told)}"
    said = [f"{one.name}: {found.text}" for one in told.series for found in one.changes]
    caption = " ".join(said) or ("No change point." if told.by == "run" else "")
    charts = history_charts(told)
    svg = (
        charts[0]
        if len(charts) == 1
        else stacked(charts, name="history", title=title, description=caption)
    )
    with refusals(path, "written"):
        write_picture(path, svg, title=title, caption=caption)


def _print(told: History, series: Series) -> None:
    from aferir.report.formatting import change, instant, quantity
    from aferir.report.history import figure_name, no_change

    first, last = series.runs[0].conditions, series.runs[-1].conditions
    host = f" on {series.host}" if series.host else ""
    count = len(series.runs)
    print(f"{series.name} ({series.experiment}): {figure_name(told)}{host}")
    began, ended = instant(first.started_unix_ns), instant(last.started_unix_ns)
    print(f"  1 run, {began}" if count == 1 else f"  {count} runs, {began} to {ended}")
    for one in series.changes:
        print(f"  {one.text}")
    for bucket in series.buckets:
        median, low, high = (
            quantity(value, series.unit) if series.unit else change(value)
            for value in (bucket.median, bucket.quantile_25, bucket.quantile_75)
        )
        runs = "1 run" if bucket.runs == 1 else f"{bucket.runs} runs"
        print(f"  {told.by} {bucket.name}: {median} (quartiles {low} and {high}, {runs})")
    if told.by == "run" and not series.changes:
        print(f"  {no_change(count)}")
