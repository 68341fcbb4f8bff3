"""Describe the other hosts of an experiment, or clean up on them.

Hosts are the [[host]] tables of an experiment file, or of a file with nothing else in it.
"""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.hosts.verbs import check, clean

NAME = "hosts"
HELP = "other hosts: a doctor of all of them side by side, and cleaning"

SUBVERBS: tuple[ModuleType, ...] = (check, clean)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir hosts`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb."""
    return int(options.execute_verb(options))
