"""Restore everything if the controller of a co-location dies; started by `colocate run`."""

from __future__ import annotations

import argparse

NAME = "guard"
HELP = "restore all settings when `run` dies; started by it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the guard."""
    parser.add_argument("entry", help="entry of the journal")
    parser.add_argument("owner", type=int, help="process number of the controller")
    parser.add_argument("started", type=int, help="its start time in clock ticks since boot")
    parser.add_argument(
        "--metrics-socket",
        type=int,
        metavar="FD",
        help="file descriptor of a listening socket on which it serves the controller's metrics",
    )


def execute(options: argparse.Namespace) -> int:
    """Wait for the controller's end; exit code 1 if something could not be restored."""
    from aferir.colocation import guard

    if options.metrics_socket is not None:
        from aferir.colocation import endpoint  # HTTP takes memory, and few runs need it

        endpoint.serve(options.metrics_socket, guard.metrics_file(options.entry))
    return 1 if guard.watch(options.entry, options.owner, options.started) else 0
