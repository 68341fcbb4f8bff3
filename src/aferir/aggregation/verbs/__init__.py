"""Several network links used as one: which way fits, what each carries, and how to set it up."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.aggregation.verbs import apply, confirm, guard, measure, plan, run, tune, undo
from aferir.cli.verbs import add_verbs

NAME = "aggregate"
HELP = "several network links used as one"

SUBVERBS: tuple[ModuleType, ...] = (
    plan,
    apply,
    confirm,
    undo,
    measure,
    run,
    tune,
    guard,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir aggregate`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb; returns its exit code."""
    return int(options.execute_verb(options))
