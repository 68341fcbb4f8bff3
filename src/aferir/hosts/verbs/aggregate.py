"""Aggregate links at both ends, on hosts of a file, or at neither of them.

The change is made on each host, and confirmed on all of them if the first one then reaches the
others over it. If anything fails, or a host is lost, it is undone everywhere: at once, or by the
guard on a host that cannot be reached any more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from aferir.errors import UsageError

NAME = "aggregate"
HELP = "use several links as one, at both ends or at neither"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir hosts aggregate`."""
    from aferir.model.network import METHODS

    parser.add_argument("file", type=Path, metavar="FILE", help="a file with [[host]] tables")
    parser.add_argument(
        "ends",
        nargs="*",
        metavar="HOST=A,B,...",
        help="a host and its links; the first one's address is used",
    )
    parser.add_argument(
        "--method", choices=METHODS, help="how the links are used as one; required unless --undo"
    )
    parser.add_argument("--name", default="bond0", help="name of the bond (default: bond0)")
    parser.add_argument(
        "--tuned",
        action="store_true",
        help="set it as `aferir aggregate plan` advises for balance-rr",
    )
    parser.add_argument(
        "--confirm-within",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds after which a host that was lost undoes it (default: 60)",
    )
    parser.add_argument("--undo", action="store_true", help="undo it on all hosts")


def execute(options: argparse.Namespace) -> int:
    """Apply the aggregate at all ends, or undo it at all ends."""
    from aferir import config
    from aferir.hosts import links, reaching
    from aferir.hosts.environment import Host

    wanted = [_end(written, undo=options.undo) for written in options.ends]
    if len(wanted) < 2 or (options.method is None and not options.undo):
        raise UsageError(
            "it takes two hosts and a method",
            remedy="aferir hosts aggregate FILE node1=eth1,eth2 node2=eth1,eth2 --method mptcp",
        )
    known = config.hosts_of(config.read_bytes(options.file), source=str(options.file))
    specs = {one.name: one for one in known if one.cloud is None}
    for name, _ in wanted:
        if name not in specs:
            said = f"there is no [[host]] {name} in {options.file}"
            raise UsageError(said, remedy=f"choose out of {', '.join(specs)}")
    made = reaching.connect([specs[name] for name, _ in wanted])
    hosts = [one for one in made if isinstance(one, Host)]
    try:
        ends = [links.end(one, at) for one, (_, at) in zip(hosts, wanted, strict=True)]
        if options.undo:
            for one in ends:
                one.aggregate("undo", options.name)
            print(f"`{options.name}` is undone at all ends.")
            return 0
        tuned = ("--tuned",) if options.tuned else ()
        links.apply(
            ends,
            ("--method", options.method, *tuned),
            name=options.name,
            confirm_within_s=options.confirm_within,
        )
    finally:
        for host in hosts:
            host.lose()
    print(f"`{options.name}` is set up at all ends; --undo takes it back.")
    return 0


def _end(written: str, *, undo: bool) -> tuple[str, tuple[str, ...]]:
    """Parse a host and its interfaces, as in `node1=eth1,eth2`. Errors: UsageError."""
    name, _, interfaces = written.partition("=")
    names = tuple(filter(None, interfaces.split(",")))
    if not name or (not names and not undo):
        raise UsageError(f"{written} is no HOST=INTERFACES", remedy="e.g. node1=eth1,eth2")
    return name, names
