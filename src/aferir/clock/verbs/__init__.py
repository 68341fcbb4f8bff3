"""Clocks of this machine, and one time for a whole cluster, real or simulated."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.clock.verbs import check, read, serve, simulate, sync

NAME = "clock"
HELP = "the clocks of this machine, and one time for a whole cluster"

SUBVERBS: tuple[ModuleType, ...] = (
    check,
    read,
    serve,
    sync,
    simulate,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir clock`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb."""
    return int(options.execute_verb(options))
