"""Virtual clusters on this machine: a front end and workers, ready for MPI."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli import (
    cluster_create,
    cluster_destroy,
    cluster_list,
    cluster_load,
    cluster_pin,
    cluster_put,
    cluster_run,
    cluster_save,
    cluster_scale,
    cluster_shell,
    cluster_status,
    cluster_up,
    cluster_watch,
)
from aferir.cli.verbs import add_verbs

NAME = "cluster"
HELP = "virtual clusters on this machine, ready for MPI"

SUBVERBS: tuple[ModuleType, ...] = (
    cluster_create,
    cluster_list,
    cluster_status,
    cluster_run,
    cluster_shell,
    cluster_put,
    cluster_scale,
    cluster_pin,
    cluster_save,
    cluster_load,
    cluster_up,
    cluster_destroy,
    cluster_watch,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir cluster`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Do what the chosen verb does."""
    return int(options.execute_verb(options))
