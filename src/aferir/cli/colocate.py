"""Batch work beside a latency-critical service."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli import colocate_simulate
from aferir.cli.verbs import add_verbs

NAME = "colocate"
HELP = "batch work on what a service leaves idle, while its SLA is kept"

SUBVERBS: tuple[ModuleType, ...] = (colocate_simulate,)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir colocate`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Do what the chosen verb does."""
    return int(options.execute_verb(options))
