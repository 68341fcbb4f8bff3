"""Describe the other hosts of an experiment, aggregate links between them, or clean up there.

Hosts are the [[host]] tables of an experiment file, or of a file with nothing else in it.
"""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.hosts.verbs import aggregate, check, clean

NAME = "hosts"
HELP = "other hosts: a doctor of all side by side, links between them, and cleaning"

SUBVERBS: tuple[ModuleType, ...] = (aggregate, check, clean)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir hosts`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb."""
    return int(options.execute_verb(options))
