"""Show a cluster, which of its nodes run, and which its watcher has replaced."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aferir.cluster.description import State

NAME = "status"
HELP = "what a cluster is and which of its nodes run"
_LINES = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster status`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def execute(options: argparse.Namespace) -> int:
    """Print the status; exit code 1 if a node does not run."""
    from aferir.cluster import storing

    state = storing.read(options.name)
    if options.json:
        print_json(state)
    else:
        _print(state)
    return 0 if all(node["runs"] for node in described(state)["nodes"]) else 1


def described(state: State) -> dict[str, Any]:
    """The status as values for JSON."""
    from aferir.cluster import manager, storing, watch

    asked = state.description
    made = manager.backend(asked)
    nodes = [
        {
            "name": node.name,
            "address": node.address,
            "cpus": list(node.cpus),
            "runs": manager.is_alive(made, node),
        }
        for node in state.nodes
    ]
    return {
        "name": asked.name,
        "kind": asked.kind,
        "boot": asked.boot,
        "cpus": asked.cpus,
        "memory_bytes": asked.memory_bytes,
        "home": str(storing.folder(asked.name) / "home"),
        "watched": watch.running(state),
        "nodes": nodes,
        "events": watch.log(asked.name),
    }


def print_json(state: State) -> None:
    """Print the status as one line of JSON."""
    import json

    print(json.dumps(described(state)))


def _print(state: State) -> None:
    found = described(state)
    watched = "watched" if found["watched"] else "not watched: nodes that die stay dead"
    memory = found["memory_bytes"] / 2**20
    print(f"{found['name']}: {found['kind']}, {found['boot']} workers, {watched}")
    print(f"each node: {found['cpus']} CPUs, {memory:.0f} MiB; /home is {found['home']} here")
    for node in found["nodes"]:
        cpus = ",".join(map(str, node["cpus"]))
        how = "runs" if node["runs"] else "does not run"
        print(f"  {node['name']:8} {node['address']:12} on CPU {cpus:8} {how}")
    for line in found["events"][-_LINES:]:
        print(f"  {line}")
