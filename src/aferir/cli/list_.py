"""List the stored runs, the newest first, with their status."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "list"
HELP = "list the stored runs"

_MARKS = {
    "complete": "[green]complete[/]",
    "unfinished": "[yellow]unfinished[/]",
    "damaged": "[red]damaged[/]",
    "unreadable": "[red]unreadable[/]",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir list`."""
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    add_runs(parser)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare `--runs`, which several verbs share."""
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="FOLDER",
        help="where run folders are (default: runs)",
    )


def add_runs_folder(parser: argparse.ArgumentParser) -> None:
    """Declare the folder of runs as an argument, for verbs that need no other one."""
    parser.add_argument(
        "runs",
        type=Path,
        nargs="?",
        default=Path("runs"),
        metavar="FOLDER",
        help="where run folders are (default: runs)",
    )


def add_hosts(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Declare `--hosts`, which several verbs share."""
    parser.add_argument(
        "--hosts",
        type=Path,
        required=required,
        metavar="FILE",
        help="a file with [[host]] tables, for `host` of environments",
    )


def execute(options: argparse.Namespace) -> int:
    """Print one line for each run."""
    import msgspec

    from aferir.store import list_runs

    runs = list_runs(options.runs)
    if options.json:
        print(msgspec.json.encode([msgspec.to_builtins(r, enc_hook=str) for r in runs]).decode())
        return 0
    if not runs:
        print(f"No runs in {options.runs}. Start one: aferir run experiments/this-machine.toml")
        return 0
    from datetime import UTC, datetime

    from rich.console import JustifyMethod
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("run", "experiment", "started (UTC)", "records", "status"):
        align: JustifyMethod = "right" if title == "records" else "left"
        table.add_column(title, justify=align, overflow="fold")
    for run in runs:
        started = datetime.fromtimestamp(run.created_unix_ns / 1e9, UTC)
        when = f"{started:%Y-%m-%d %H:%M:%S}" if run.created_unix_ns else ""
        status = _MARKS[run.status] + (f": {escape(run.note)}" if run.note else "")
        table.add_row(escape(str(run.folder)), escape(run.name), when, str(run.records), status)
    console().print(table)
    return 0
