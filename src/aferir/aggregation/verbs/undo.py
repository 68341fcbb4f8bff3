"""Take back an aggregate that was applied, confirmed or not: addresses and routes as they were."""

from __future__ import annotations

import argparse
import sys

NAME = "undo"
HELP = "take back what was applied"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate undo`."""
    parser.add_argument("name", nargs="?", default="bond0", help="default: bond0")


def execute(options: argparse.Namespace) -> int:
    """Undo it; exit code 1 where something resisted."""
    from aferir.aggregation import guard

    problems = guard.undo(options.name)
    for problem in problems:
        print(f"could not undo: {problem}", file=sys.stderr)
    print(f"`{options.name}` is undone.")
    return 1 if problems else 0
