"""Write the report of a run: HTML, Markdown, CSV, JSON, and other forms if requested.

It is written into the run's folder, or with --to into another one, e.g. for a run of another user.
A run whose folder is not writable is reported into a folder of its name here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.report.model import Evaluation
    from aferir.store import Run

NAME = "report"
HELP = "write the report of a run"

_OTHERS = {
    "openmetrics": ("FILE", "also write all figures there as OpenMetrics"),
    "trace": ("FILE", "also write the run's phases there as a trace for Perfetto (.json)"),
    "crate": ("FILE", "also write run and report there as an RO-Crate (.zip), to be cited"),
    "latex": ("FILE", "also write the ratios there as a LaTeX table (booktabs)"),
    "svg": ("FOLDER", "also write each chart there as SVG"),
}
"""Forms that are written on request only: option, its argument, and its help text."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir report`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, finished or not")
    parser.add_argument("--json", action="store_true", help="print the evaluation as JSON")
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where to write it (default: the run's folder)"
    )
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="also write all samples there")
    for name, (place, told) in _OTHERS.items():
        parser.add_argument(f"--{name}", type=Path, metavar=place, help=told)
    parser.set_defaults(keeps_results=True)


def execute(options: argparse.Namespace) -> int:
    """Evaluate the records so far and write the files."""
    from aferir.cli.publish import evaluate, write_all
    from aferir.installed import installed
    from aferir.report.write.json import document
    from aferir.store import open_run

    run = open_run(options.run)
    evaluation = evaluate(run)
    place = options.to or _place(run.folder)
    others = {name: path for name in _OTHERS if (path := getattr(options, name)) is not None}
    if options.json and place is None and options.parquet is None and not others:
        reference = installed("reference")
        print(
            document(evaluation, provenance=run.reported_provenance, reference=reference),
            end="",
        )
        return 0
    written = write_all(run, evaluation, place)
    if options.parquet is not None:
        from aferir.store.export import export_parquet

        export_parquet([run], options.parquet)
        written["parquet"] = options.parquet
    for name, path in others.items():
        written[name] = _write(name, path, run, evaluation)
    if options.json:
        print(written["json"].read_text(encoding="utf-8"), end="")
    else:
        for path in written.values():
            print(path)
    return 0


def _write(name: str, path: Path, run: Run, evaluation: Evaluation) -> Path:
    """Write one of the forms that are written on request. Errors: RefusedError with the file."""
    from aferir.installed import installed
    from aferir.linux.refusal import refusals
    from aferir.report.write.crate import write_crate
    from aferir.report.write.latex import write_latex
    from aferir.report.write.openmetrics import write_openmetrics
    from aferir.report.write.svg import write_svgs
    from aferir.report.write.trace import write_trace

    reference = installed("reference")
    write: dict[str, Callable[[], object]] = {
        "openmetrics": lambda: write_openmetrics(path, run, evaluation),
        "trace": lambda: write_trace(path, run),
        "crate": lambda: write_crate(path, run, evaluation, reference=reference),
        "latex": lambda: write_latex(path, evaluation),
        "svg": lambda: write_svgs(
            path, evaluation, provenance=run.reported_provenance, reference=reference
        ),
    }
    with refusals(path, "written", remedy="name another file"):
        write[name]()
    return path


def _place(folder: Path) -> Path | None:
    """Folder to write into: the run's own, or one of its name here; None if neither is writable."""
    if os.access(folder, os.W_OK | os.X_OK):
        return folder
    here = Path(folder.resolve().name)
    if not os.access(Path(), os.W_OK | os.X_OK) or here.resolve() == folder.resolve():
        return None
    print(f"aferir: {folder} may not be written: the report goes to {here}", file=sys.stderr)
    return here
