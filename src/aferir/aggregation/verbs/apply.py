"""Aggregate links of this host, or of one network namespace; undone unless confirmed in time.

Addresses and routes of the first interface move to the bond. If the connection is lost through
which this command was given, nobody confirms, and a guard restores everything.
"""

from __future__ import annotations

import argparse
import re
import shlex

from aferir.errors import MissingError, UsageError

NAME = "apply"
HELP = "set a method up, undone unless confirmed in time"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
"""Valid name of an interface: at most 15 characters (IFNAMSIZ)."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate apply`."""
    from aferir.model.network import METHODS

    parser.add_argument(
        "--method", required=True, choices=METHODS, help="how the links are used as one"
    )
    parser.add_argument(
        "--interfaces",
        required=True,
        metavar="A,B,...",
        help="the links; the address of the first one is used",
    )
    parser.add_argument("--name", default="bond0", help="name of the bond (default: bond0)")
    parser.add_argument(
        "--bridge", default="", metavar="NAME", help="also make a bridge of this name over the bond"
    )
    parser.add_argument(
        "--to",
        default="",
        metavar="PREFIX",
        help="multipath: network that is reached over the links",
    )
    parser.add_argument(
        "--via", default="", metavar="A,B,...", help="multipath: next hop over each link"
    )
    parser.add_argument(
        "--tuned",
        action="store_true",
        help="set it as `aferir aggregate plan` advises for balance-rr",
    )
    parser.add_argument(
        "--namespace",
        default="",
        metavar="NAME",
        help="change this network namespace instead of this host",
    )
    parser.add_argument(
        "--confirm-within",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds after which it is undone unless confirmed (default: 60)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the commands")


def execute(options: argparse.Namespace) -> int:
    """Print the commands, and run them unless it is a dry run."""
    from aferir.aggregation import guard
    from aferir.aggregation.applying import Wish
    from aferir.aggregation.tuning import ROUND_ROBIN
    from aferir.machine import privileges
    from aferir.model.network import Tuning, method_by_name

    _check(options)
    wish = Wish(
        method=method_by_name(options.method),
        interfaces=tuple(options.interfaces.split(",")),
        name=options.name,
        bridge=options.bridge,
        destination=options.to,
        gateways=tuple(options.via.split(",")) if options.via else (),
        tuning=ROUND_ROBIN if options.tuned else Tuning(),
    )
    if options.dry_run:
        planned = guard.plan_steps(wish, options.namespace)
        for title, commands in (("# to do", planned.do), ("# to undo", planned.undo)):
            print(title, *(shlex.join(command) for command in commands), sep="\n")
        return 0
    if not privileges.is_root():
        raise MissingError("it takes root", remedy=privileges.as_root_command())
    guard.apply(wish, options.namespace, confirm_within_s=options.confirm_within)
    print(
        f"`{options.name}` is set up, and undone in {options.confirm_within:g} s unless you "
        f"confirm it:\n  aferir aggregate confirm {options.name}"
    )
    return 0


def _check(options: argparse.Namespace) -> None:
    from aferir.model.network import Bonding, method_by_name

    for option, name in (("--name", options.name), ("--bridge", options.bridge or "br0")):
        if not _NAME.fullmatch(name):
            raise UsageError(f"{option} {name}: no name of an interface", remedy="e.g. bond0")
    if options.bridge and not isinstance(method_by_name(options.method), Bonding):
        raise UsageError("--bridge is for bonding", remedy="choose one of its modes")
    if not 1 <= options.confirm_within <= 86_400:
        raise UsageError("--confirm-within: from a second to a day", remedy="e.g. 60")
