"""Copy files of this machine into the home that all nodes of a cluster share."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "put"
HELP = "copy files into the shared home of a cluster"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster put`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("file", nargs="+", type=Path, help="becomes ~/NAME on all nodes")


def execute(options: argparse.Namespace) -> int:
    """Copy each file."""
    from aferir.cluster import files, storing
    from aferir.errors import UsageError

    for path in options.file:
        if not path.exists():
            raise UsageError(f"there is no file {path}", remedy="name a file of this machine")
    with storing.locked(options.name):
        for path in options.file:
            files.put(storing.folder(options.name), path)
    copied = ", ".join(f"~/{path.name}" for path in options.file)
    print(f"{options.name}: {copied} {'is' if len(options.file) == 1 else 'are'} on all nodes")
    return 0
