"""Open a shell on a cluster's front end, with your terminal."""

from __future__ import annotations

import argparse
import os

NAME = "shell"
HELP = "a shell on a cluster's front end"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster shell`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("--root", action="store_true", help="as root instead of the user")
    parser.add_argument("--node", help="node to use instead of the front end")


def execute(options: argparse.Namespace) -> int:
    """Execute the shell in place of this process, so that it has the terminal."""
    from aferir.cluster import running

    command = running.shell_command(options.name, root=options.root, node=options.node)
    os.execvpe(command[0], command, os.environ)  # noqa: S606  (it takes our place; there is no child)
