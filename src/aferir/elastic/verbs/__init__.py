"""Measure how an environment's allocation latency affects an elastic service: ElasticMovie."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.elastic.verbs import image, measure, simulate

NAME = "elastic"
HELP = "what allocation latency does to an elastic service"

SUBVERBS: tuple[ModuleType, ...] = (image, measure, simulate)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir elastic`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb; returns its exit code."""
    return int(options.execute_verb(options))
