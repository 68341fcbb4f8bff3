"""Create a cluster from an OVA file, after checking that it is complete and unchanged.

If guests cannot run here, a saved cluster of guests is loaded as containers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "load"
HELP = "make a cluster from an OVA file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster load`."""
    parser.add_argument("file", type=Path, help="the OVA; with --check, its descriptor (.ovf)")
    parser.add_argument("--name", default="", help="name for the cluster instead of its own")
    parser.add_argument(
        "--kind", choices=("container", "vm"), help="kind of nodes instead of the cluster's own"
    )
    parser.add_argument(
        "--check", action="store_true", help="only say whether this machine could load it"
    )
    parser.add_argument("--no-watch", action="store_true", help="do not replace nodes that die")


def execute(options: argparse.Namespace) -> int:
    """Load the cluster, and start its watcher."""
    from aferir.cluster import packaging, watch

    def progress(text: str) -> None:
        print(text, file=sys.stderr)

    if options.check:
        packaging.require_possible(
            options.file, name=options.name, kind=options.kind, progress=progress
        )
        print(f"{options.file} can be loaded here")
        return 0
    state = packaging.load(options.file, name=options.name, kind=options.kind, progress=progress)
    name = state.description.name
    if not options.no_watch:
        watch.start(name)
    print(f"{name}: {len(state.nodes)} nodes are ready")
    return 0
