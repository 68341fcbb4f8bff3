"""One time for a whole cluster: what its clocks can do, here and simulated."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli import (
    clock_bench,
    clock_check,
    clock_read,
    clock_serve,
    clock_simulate,
    clock_sync,
)

NAME = "clock"
HELP = "the clocks of this machine, and one time for a whole cluster"

SUBVERBS: tuple[ModuleType, ...] = (
    clock_check,
    clock_read,
    clock_serve,
    clock_sync,
    clock_simulate,
    clock_bench,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir clock`."""
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in SUBVERBS:
        child = verbs.add_parser(
            verb.NAME,
            help=verb.HELP,
            description=verb.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.configure(child)
        child.set_defaults(execute_clock=verb.execute)


def execute(options: argparse.Namespace) -> int:
    """Do what the chosen verb does."""
    return int(options.execute_clock(options))
