"""Run a command on a cluster's front end, as its user, in the home that all nodes share.

`mpirun` there knows all nodes. The command's exit code, output and input are passed through; a
terminal is not: see `aferir cluster shell`.
"""

from __future__ import annotations

import argparse

NAME = "run"
HELP = "run a command on a cluster's front end"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster run`."""
    parser.epilog = "example: aferir cluster run lab -- mpirun -n 8 ./program"
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("--root", action="store_true", help="as root instead of the user")
    parser.add_argument("--node", help="node to use instead of the front end")
    parser.add_argument("command", nargs="+", help="command and its arguments, after --")


def execute(options: argparse.Namespace) -> int:
    """Run the command; returns its exit code, or 128 + N if signal N ended it."""
    import signal

    from aferir.cluster import running

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the command must end as well
    return running.run(options.name, options.command, root=options.root, node=options.node)
