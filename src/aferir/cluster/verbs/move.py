"""Move a cluster to another host: it is stopped here, copied, and started there.

Its nodes stand still meanwhile and go on here if it does not start there; programs that run on them
end with the move, as disks are copied and memory is not. The host needs an aferir of its own, and
root where this cluster has it.

examples:
  aferir cluster move lab hosts.toml node2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "move"
HELP = "stop a cluster here and start it on another host"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster move`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("file", type=Path, metavar="FILE", help="a file with [[host]] tables")
    parser.add_argument("host", metavar="HOST", help="name of the host to move it to")


def execute(options: argparse.Namespace) -> int:
    """Move the cluster."""
    from aferir import config
    from aferir.cluster import packaging
    from aferir.cluster.moving import Destination
    from aferir.errors import UsageError
    from aferir.linux import ssh

    known = config.hosts_of(config.read_bytes(options.file), source=str(options.file))
    host = next((one for one in known if one.name == options.host), None)
    if host is None:
        raise UsageError(
            f"there is no [[host]] {options.host} in {options.file}",
            remedy=f"choose out of {', '.join(one.name for one in known) or 'those that you add'}",
        )
    shell = ("sudo", "-n", "sh") if host.sudo else ("sh",)

    def progress(text: str) -> None:
        print(text, file=sys.stderr)

    def send(package: Path) -> None:
        progress(f"copying {package.stat().st_size / 1e6:.0f} MB to {host.name}")
        there.load(package)

    with Destination(host.name, [*ssh.unattended(host.reach), *shell]) as there:
        there.check()
        packaging.move(options.name, there.ask, send, progress)
    print(f"{options.name} is on {host.name}")
    return 0
