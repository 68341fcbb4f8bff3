"""Batch work beside a latency-critical service.

Without a verb it is `run`: aferir colocate --service SPEC --sla p95=200ms ... -- COMMAND
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.colocation.verbs import guard, measure, run, search, simulate, status

NAME = "colocate"
HELP = "run batch work on CPUs that a service leaves idle, within its SLA"

_HELP = ("-h", "--help")
SUBVERBS: tuple[ModuleType, ...] = (
    run,
    simulate,
    search,
    measure,
    status,
    guard,
)


def separate(arguments: Sequence[str]) -> list[str]:
    """Insert the verb `run` if options follow `colocate` directly."""
    given = list(arguments)
    options = given[:1] == [NAME] and given[1:2] and given[1].startswith("-")
    return [NAME, run.NAME, *given[1:]] if options and given[1] not in _HELP else given


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir colocate`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb; returns its exit code."""
    return int(options.execute_verb(options))
