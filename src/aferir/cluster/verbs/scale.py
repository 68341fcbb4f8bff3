"""Add workers to a cluster, or remove its last ones with what they have written."""

from __future__ import annotations

import argparse

NAME = "scale"
HELP = "add or remove workers"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster scale`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("nodes", type=int, help="how many it is to have, the front end among them")
    parser.add_argument("--json", action="store_true", help="print the cluster as JSON")


def execute(options: argparse.Namespace) -> int:
    """Scale the cluster."""
    from aferir.cluster import manager
    from aferir.cluster.verbs.status import print_json

    state = manager.scale(options.name, options.nodes)
    if options.json:
        print_json(state)
    else:
        print(f"{options.name}: {len(state.nodes)} nodes are ready")
    return 0
