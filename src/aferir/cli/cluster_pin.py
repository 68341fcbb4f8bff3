"""Let nodes of a cluster run on chosen CPUs of the host alone, from now on."""

from __future__ import annotations

import argparse

from aferir.errors import UsageError

NAME = "pin"
HELP = "choose the host's CPUs that nodes run on"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster pin`."""
    parser.epilog = "example: aferir cluster pin lab front=0 node1=1 node2=0-1"
    parser.add_argument("name", help="of the cluster")
    parser.add_argument("placement", nargs="+", metavar="NODE=CPUS", help="e.g. node1=0,2-3")


def execute(options: argparse.Namespace) -> int:
    """Pin each."""
    from aferir.cluster import manager

    manager.pin(options.name, dict(_parse(text) for text in options.placement))
    return 0


def _parse(text: str) -> tuple[str, tuple[int, ...]]:
    """`node1=0,2-3` as a name and CPUs. Errors: UsageError."""
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
