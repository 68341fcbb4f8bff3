"""Undo an aggregate that was applied, confirmed or not; addresses and routes are restored."""

from __future__ import annotations

import argparse
import sys

NAME = "undo"
HELP = "undo an applied aggregate"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate undo`."""
    parser.add_argument(
        "name", nargs="?", default="bond0", help="name of the bond (default: bond0)"
    )


def execute(options: argparse.Namespace) -> int:
    """Undo the aggregate; exit code 1 if something could not be undone."""
    from aferir.aggregation import guard

    problems = guard.undo(options.name)
    for problem in problems:
        print(f"could not undo: {problem}", file=sys.stderr)
    print(f"`{options.name}` is undone.")
    return 1 if problems else 0
