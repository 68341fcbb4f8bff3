"""List all clusters of this machine, one per line."""

from __future__ import annotations

import argparse

NAME = "list"
HELP = "all clusters of this machine"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster list`."""
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def execute(options: argparse.Namespace) -> int:
    """Print the list."""
    import json

    from aferir.cluster import storing
    from aferir.cluster.verbs.status import described

    found = [described(state) for name in storing.names() if (state := storing.find(name))]
    if options.json:
        print(json.dumps(found))
        return 0
    for cluster in found:
        nodes = cluster["nodes"]
        up = sum(node["runs"] for node in nodes)
        print(f"{cluster['name']}: {up} of {len(nodes)} nodes run ({cluster['kind']})")
    if not found:
        print("There is no cluster.")
    return 0
