"""What an environment's allocation latency does to an elastic service: ElasticMovie."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli import elastic_image, elastic_measure, elastic_simulate
from aferir.cli.verbs import add_verbs

NAME = "elastic"
HELP = "what allocation latency does to an elastic service"

SUBVERBS: tuple[ModuleType, ...] = (elastic_image, elastic_measure, elastic_simulate)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir elastic`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Do what the chosen verb does."""
    return int(options.execute_verb(options))
