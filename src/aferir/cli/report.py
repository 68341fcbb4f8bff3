"""Write the report of a run: HTML, Markdown, CSV, JSON, and Parquet when asked for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.report.model import Evaluation
    from aferir.store import Run

NAME = "report"
HELP = "write the report of a run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir report`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, finished or not")
    parser.add_argument("--json", action="store_true", help="print the evaluation as JSON")
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="also write all samples there")


def execute(options: argparse.Namespace) -> int:
    """Evaluate what is recorded so far and write the files into the run's folder."""
    from aferir.store import open_run

    run = open_run(options.run)
    written = write_all(run, evaluate(run))
    if options.parquet is not None:
        from aferir.store.export import export_parquet

        export_parquet([run], options.parquet)
        written["parquet"] = options.parquet
    if options.json:
        print(written["json"].read_text(encoding="utf-8"), end="")
    else:
        for path in written.values():
            print(path)
    return 0


def evaluate(run: Run) -> Evaluation:
    """The evaluation of what is recorded so far."""
    from aferir.report.analyse import analyse

    return analyse(run.plan, run.records)


def write_all(run: Run, evaluation: Evaluation) -> dict[str, Path]:
    """Write every form beside the records; the path of each by its form."""
    from aferir.installed import installed
    from aferir.report.write_csv import write_samples_csv, write_summary_csv
    from aferir.report.write_html import write_html
    from aferir.report.write_json import write_json
    from aferir.report.write_markdown import write_markdown

    forms = {"html": "html", "markdown": "md", "json": "json"}
    paths = {form: run.folder / f"report.{ending}" for form, ending in forms.items()}
    paths |= {"samples": run.folder / "samples.csv", "summary": run.folder / "summary.csv"}
    reference = installed("reference")
    write_html(paths["html"], evaluation, provenance=run.provenance, reference=reference)
    write_markdown(paths["markdown"], evaluation, provenance=run.provenance)
    write_json(paths["json"], evaluation, provenance=run.provenance)
    write_samples_csv(paths["samples"], run.records)
    write_summary_csv(paths["summary"], evaluation)
    return paths
