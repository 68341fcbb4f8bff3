"""Virtual clusters on this machine: a front end and workers, ready for MPI."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.cluster.verbs import (
    create,
    destroy,
    list,
    load,
    move,
    pin,
    put,
    run,
    save,
    scale,
    shell,
    status,
    up,
    watch,
)

NAME = "cluster"
HELP = "virtual clusters on this machine, ready for MPI"

SUBVERBS: tuple[ModuleType, ...] = (
    create,
    list,
    status,
    run,
    shell,
    put,
    scale,
    pin,
    save,
    load,
    move,
    up,
    destroy,
    watch,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir cluster`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb; returns its exit code."""
    return int(options.execute_verb(options))
