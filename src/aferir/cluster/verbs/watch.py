"""Replace nodes of a cluster when they die; `create` and `up` start this themselves."""

from __future__ import annotations

import argparse

NAME = "watch"
HELP = "replace nodes that die; started by create and up"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster watch`."""
    parser.add_argument("name", help="name of the cluster")


def execute(options: argparse.Namespace) -> int:
    """Watch until the cluster is removed."""
    import os
    import signal

    from aferir.cluster import watch

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal may close; the watcher stays
    os.chdir("/")
    watch.watch(options.name)
    return 0
