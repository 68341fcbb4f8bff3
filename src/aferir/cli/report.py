"""Write the report of a run: HTML, Markdown, CSV, JSON, and Parquet if requested.

It is written into the run's folder, or with --to into another one, e.g. for a run of another user.
A run whose folder is not writable is reported into a folder of its name here.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

NAME = "report"
HELP = "write the report of a run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir report`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, finished or not")
    parser.add_argument("--json", action="store_true", help="print the evaluation as JSON")
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where to write it (default: the run's folder)"
    )
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="also write all samples there")
    parser.set_defaults(keeps_results=True)


def execute(options: argparse.Namespace) -> int:
    """Evaluate the records so far and write the files."""
    from aferir.cli.publish import evaluate, write_all
    from aferir.installed import installed
    from aferir.report.write.json import document
    from aferir.runner.interrupts import ending_signals
    from aferir.store import open_run

    run = open_run(options.run)
    with ending_signals():
        evaluation = evaluate(run)
        place = options.to or _place(run.folder)
        if options.json and place is None and options.parquet is None:
            reference = installed("reference")
            print(document(evaluation, provenance=run.provenance, reference=reference), end="")
            return 0
        written = write_all(run, evaluation, place)
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


def _place(folder: Path) -> Path | None:
    """The run's own folder, or one of its name here; None: neither is writable."""
    if os.access(folder, os.W_OK | os.X_OK):
        return folder
    here = Path(folder.resolve().name)
    if not os.access(Path(), os.W_OK | os.X_OK) or here.resolve() == folder.resolve():
        return None
    print(f"aferir: {folder} may not be written: the report goes to {here}", file=sys.stderr)
    return here
