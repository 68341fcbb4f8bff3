"""Remove a cluster with everything on it: nodes, disks, the shared home, keys."""

from __future__ import annotations

import argparse

NAME = "destroy"
HELP = "remove a cluster with everything on it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster destroy`."""
    parser.add_argument("name", nargs="+", help="names of clusters")


def execute(options: argparse.Namespace) -> int:
    """Remove each cluster."""
    from aferir.cluster import manager

    for name in options.name:
        manager.destroy(name)
        print(f"{name} is removed, with its nodes, disks and home")
    return 0
