"""Run a program of Open MPI over a test network whose links are used as one.

Hosts are network namespaces of this kernel, or LXC containers that have joined those; ranks are
shared out among them in blocks. What the program prints is printed. Nothing of the host's own
network is touched, and nothing is left.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.errors import ProgramError, UsageError
from aferir.model.network import METHODS, MOST_HOSTS, MOST_LINKS, Network, method_by_name

if TYPE_CHECKING:
    from aferir.aggregation.ranks import Ran

NAME = "run"
HELP = "a program of Open MPI over a test network"
_MOST_RANKS = 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate run`."""
    parser.add_argument("--method", choices=METHODS, default="single", help="default: single")
    parser.add_argument("--links", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument(
        "--rate-mbit", type=int, default=100, metavar="N", help="Mbit/s of a link (default: 100)"
    )
    parser.add_argument("--hosts", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument(
        "--ranks-in",
        choices=("hosts", "containers"),
        default="hosts",
        help="containers: one on each host, its network bridged over the links (default: hosts)",
    )
    parser.add_argument(
        "--time-limit", type=float, default=600.0, metavar="S", help="seconds (default: 600)"
    )
    parser.add_argument(
        "--json", action="store_true", help="put the traffic of links into its last line of JSON"
    )
    parser.add_argument("program", help="its path")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")


def execute(options: argparse.Namespace) -> int:
    """Run it once and print what it prints."""
    import shutil

    from aferir.aggregation.places import here
    from aferir.aggregation.ranks import Job
    from aferir.aggregation.traffic import PROGRAM
    from aferir.programs.kernels import kernel_path

    check(options)
    program = shutil.which(options.program)
    if program is None:
        raise UsageError(f"{options.program}: no program of this host", remedy="name its path")
    job = Job(
        network=Network(
            hosts=options.hosts, links=options.links, rate_bits=options.rate_mbit * 1_000_000
        ),
        method=method_by_name(options.method),
        program=(program, *options.arguments),
        ranks=options.ranks,
        ranks_in=options.ranks_in,
    )
    with here(kernel_path(PROGRAM)) as found:
        ran = found.run(job, timeout_s=options.time_limit)
    print(with_links(ran) if options.json else ran.stdout, end="")
    if not options.json:
        _print_links(ran)
    return 0


def check(options: argparse.Namespace) -> None:
    """Errors: UsageError where the options ask for what cannot be."""
    for name, value, least, most in (
        ("--links", options.links, 1, MOST_LINKS),
        ("--rate-mbit", options.rate_mbit, 1, 100_000),
        ("--hosts", options.hosts, 2, MOST_HOSTS),
        ("--ranks", options.ranks, options.hosts, _MOST_RANKS),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} {value}: not possible", remedy=f"from {least} to {most}")


def with_links(ran: Ran) -> str:
    """The program's last line, an object in JSON, with `link_bytes`.

    Errors: ProgramError where it is none.
    """
    import msgspec

    line = ran.stdout.strip().splitlines()[-1]
    try:
        figures = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError:
        raise ProgramError(
            f"the program's last line is no object in JSON: {line[:80]}", remedy="leave --json out"
        ) from None
    return msgspec.json.encode({**figures, "link_bytes": ran.link_bytes}).decode() + "\n"


def _print_links(ran: Ran) -> None:
    from aferir.cli.console import console
    from aferir.report.formatting import number

    each = ", ".join(f"{name} {number(b * 1e-6)} MB" for name, b in ran.link_bytes.items())
    console(stderr=True).print(f"host1's links {each}")
