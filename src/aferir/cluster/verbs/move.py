"""Move a cluster to another host: it is stopped here, copied, and started there.

Its nodes stand still meanwhile and go on here if it does not start there; programs that run on them
end with the move, as disks are copied and memory is not. The host needs an aferir of its own, and
root where this cluster has it. Without HOST it goes to the host of the file whose processors
clusters, with this one, would ask for least often, if that is less than here; what runs on them at
the moment does not count.

examples:
  aferir cluster move lab hosts.toml node2
  aferir cluster move lab hosts.toml
  aferir cluster move lab hosts.toml --check
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aferir.model.host import HostSpec

NAME = "move"
HELP = "stop a cluster here and start it on another host"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster move`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("file", type=Path, metavar="FILE", help="a file with [[host]] tables")
    parser.add_argument(
        "host",
        nargs="?",
        metavar="HOST",
        help="name of the host to move it to; by default, that with most room",
    )
    parser.add_argument(
        "--check", action="store_true", help="only say where it would go, and whether it could"
    )


def execute(options: argparse.Namespace) -> int:
    """Move the cluster."""
    from aferir import config
    from aferir.cluster import moving, packaging

    known = config.hosts_of(config.read_bytes(options.file), source=str(options.file))
    if options.host is None:
        host = moving.with_most_room(options.name, known, _progress)
        if host is None:
            print(f"{options.name} stays here: no other host that could make it has more room")
            return 0
    else:
        host = _named(known, options.host, options.file)

    def send(package: Path) -> None:
        _progress(f"copying {package.stat().st_size / 1e6:.0f} MB to {host.name}")
        there.load(package)

    with moving.reached(host) as there:
        there.check()
        if options.check:
            there.ask(packaging.descriptor(options.name))
            print(f"{options.name} can be moved to {host.name}")
            return 0
        packaging.move(options.name, there.ask, send, _progress)
    print(f"{options.name} is on {host.name}")
    return 0


def _named(known: Sequence[HostSpec], name: str, file: Path) -> HostSpec:
    from aferir.errors import UsageError

    host = next((one for one in known if one.name == name), None)
    if host is None:
        raise UsageError(
            f"there is no [[host]] {name} in {file}",
            remedy=f"choose out of {', '.join(one.name for one in known) or 'those that you add'}",
        )
    return host


def _progress(text: str) -> None:
    print(text, file=sys.stderr)
