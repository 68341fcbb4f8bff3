"""Start nodes of a cluster that do not run; after a reboot of the host, all of them."""

from __future__ import annotations

import argparse

NAME = "up"
HELP = "start the nodes of a cluster that do not run, e.g. after a reboot"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster up`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("--no-watch", action="store_true", help="do not replace nodes that die")


def execute(options: argparse.Namespace) -> int:
    """Start the nodes, and the watcher."""
    from aferir.cluster import manager, watch

    _, started = manager.repair(options.name)
    if not options.no_watch:
        watch.start(options.name)
    print(f"started {', '.join(started)}" if started else "All nodes run.")
    return 0
