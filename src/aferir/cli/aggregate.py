"""Several network links used as one: which way fits, what each carries, and how to set it up."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli import (
    aggregate_apply,
    aggregate_confirm,
    aggregate_guard,
    aggregate_measure,
    aggregate_plan,
    aggregate_run,
    aggregate_tune,
    aggregate_undo,
)
from aferir.cli.verbs import add_verbs

NAME = "aggregate"
HELP = "several network links used as one"

SUBVERBS: tuple[ModuleType, ...] = (
    aggregate_plan,
    aggregate_apply,
    aggregate_confirm,
    aggregate_undo,
    aggregate_measure,
    aggregate_run,
    aggregate_tune,
    aggregate_guard,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir aggregate`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Do what the chosen verb does."""
    return int(options.execute_verb(options))
