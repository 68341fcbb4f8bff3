"""Restrict nodes of a cluster to chosen CPUs of the host; or advise on which.

Without a placement nothing is changed: the advised one is printed, with its reason.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from aferir.errors import UsageError

NAME = "pin"
HELP = "choose the host's CPUs that nodes run on"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster pin`."""
    parser.epilog = "example: aferir cluster pin lab front=0 node1=1 node2=0-1"
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("placement", nargs="*", metavar="NODE=CPUS", help="e.g. node1=0,2-3")
    parser.add_argument("--advised", action="store_true", help="place all nodes as is advised")
    parser.add_argument("--json", action="store_true", help="print the advice as JSON")


def execute(options: argparse.Namespace) -> int:
    """Pin the nodes, or print the advice."""
    from aferir.cluster import manager

    if options.placement and options.advised:
        raise UsageError("--advised places all nodes", remedy="leave out the others")
    if options.placement:
        chosen = dict(_parse(text) for text in options.placement)
        manager.pin(options.name, chosen)
        print(f"{options.name}: pinned {_shown(chosen)}")
        return 0
    advice, chosen = manager.advise(options.name)
    if options.advised:
        manager.pin(options.name, chosen)
    if options.json:
        found = {"placement": advice.placement, "reason": advice.reason, "cpus": chosen}
        print(json.dumps(found))
        return 0
    print(f"{advice.placement}: {advice.reason}")
    done = "pinned" if options.advised else f"aferir cluster pin {options.name}"
    print(f"  {done} {_shown(chosen)}")
    return 0


def _shown(placement: Mapping[str, Sequence[int]]) -> str:
    """A placement as on the command line: `node1=0 node2=0,1`."""
    return " ".join(f"{name}={','.join(map(str, cpus))}" for name, cpus in placement.items())


def _parse(text: str) -> tuple[str, tuple[int, ...]]:
    """A node's name and CPUs from `node1=0,2-3`. Errors: UsageError if it is malformed."""
    name, _, cpus = text.partition("=")
    found: list[int] = []
    try:
        for part in cpus.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        raise UsageError(
            f"`{text}` names no CPUs of a node", remedy="e.g. node1=0 or node1=0,2-3"
        ) from None
    return name, tuple(found)
