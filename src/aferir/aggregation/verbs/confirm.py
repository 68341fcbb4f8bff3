"""Keep an aggregate that was just applied, so that its guard does not undo it."""

from __future__ import annotations

import argparse

NAME = "confirm"
HELP = "confirm an applied aggregate, so that its guard does not undo it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate confirm`."""
    parser.add_argument(
        "name", nargs="?", default="bond0", help="name of the bond (default: bond0)"
    )


def execute(options: argparse.Namespace) -> int:
    """Confirm the aggregate."""
    from aferir.aggregation import guard

    guard.confirm(options.name)
    print(f"`{options.name}` stays; `aferir aggregate undo {options.name}` takes it back.")
    return 0
