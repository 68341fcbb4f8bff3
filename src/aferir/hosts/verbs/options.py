"""Options that select hosts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.model.host import HostSpec


def add_file(parser: argparse.ArgumentParser) -> None:
    """Declare the file of hosts, and names that select some of them."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a file with [[host]] tables")
    parser.add_argument("names", nargs="*", metavar="HOST", help="only these hosts (default: all)")


def chosen(options: argparse.Namespace) -> tuple[HostSpec, ...]:
    """Selected hosts of the file. Errors: UsageError if it lacks them."""
    from aferir import config

    known = config.hosts_of(config.read_bytes(options.file), source=str(options.file))
    if not known:
        raise UsageError(
            f"{options.file} has no [[host]]",
            remedy='add [[host]] with `name = "node1"` and `reach = "ssh node1"`',
        )
    missing = [name for name in options.names if name not in {host.name for host in known}]
    if missing:
        raise UsageError(
            f"there is no [[host]] {missing[0]} in {options.file}",
            remedy=f"choose out of {', '.join(host.name for host in known)}",
        )
    return tuple(host for host in known if not options.names or host.name in options.names)
