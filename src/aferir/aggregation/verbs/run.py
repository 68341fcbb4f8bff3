"""Run a program of Open MPI over a test network whose links are used as one.

Hosts are network namespaces of this kernel, or LXC containers that have joined those; ranks are
distributed among them in blocks. The program's output is printed. The host's own network is not
changed, and nothing is left behind.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.errors import ProgramError, UsageError

if TYPE_CHECKING:
    from aferir.aggregation.ranks import Ran

NAME = "run"
HELP = "run a program of Open MPI over a test network"
_MOST_RANKS = 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate run`."""
    from aferir.cli.parameters import add_document, add_options
    from aferir.programs.network.over_links import OverLinks

    add_options(parser, OverLinks)
    add_document(parser)
    parser.add_argument(
        "-n", "--ranks", type=int, default=2, metavar="N", help="number of ranks (default: 2)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=600.0,
        metavar="S",
        help="time limit in seconds (default: 600)",
    )
    parser.add_argument(
        "--json", action="store_true", help="put the traffic of links into its last line of JSON"
    )
    parser.add_argument("program", help="path of the program, which every rank runs in this folder")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")


def execute(options: argparse.Namespace) -> int:
    """Run the program once and print its output."""
    import shutil
    from pathlib import Path

    from aferir.aggregation.places import here
    from aferir.aggregation.ranks import Job
    from aferir.aggregation.traffic import PROGRAM
    from aferir.cli.parameters import read_options
    from aferir.machine import bonding
    from aferir.model.network import Bonding, Network, method_by_name
    from aferir.programs.kernels import kernel_path
    from aferir.programs.network.over_links import HOSTS, LINKS, RATE_MBIT, OverLinks

    chosen = read_options(OverLinks, options)
    hosts = chosen.hosts or HOSTS
    if not hosts <= options.ranks <= _MOST_RANKS:
        raise UsageError(
            f"--ranks {options.ranks}: not possible", remedy=f"from {hosts} to {_MOST_RANKS}"
        )
    program = shutil.which(options.program)
    if program is None:
        raise UsageError(f"{options.program}: no program of this host", remedy="name its path")
    method = method_by_name(chosen.method or "single")
    if isinstance(method, Bonding):
        bonding.require(method.mode)
    job = Job(
        network=Network(
            hosts=hosts,
            links=chosen.links or LINKS,
            rate_bits=(chosen.rate_mbit or RATE_MBIT) * 1_000_000,
        ),
        method=method,
        program=(str(Path(program).absolute()), *options.arguments),
        ranks=options.ranks,
        ranks_in=chosen.ranks_in or "hosts",
        folder=str(Path.cwd()),
    )
    with here(kernel_path(PROGRAM)) as found:
        ran = found.run(job, timeout_s=options.time_limit)
    print(with_links(ran) if options.json else ran.stdout, end="")
    if not options.json:
        _print_links(ran)
    return 0


def with_links(ran: Ran) -> str:
    """The program's last line, a JSON object, with `link_bytes` added.

    Errors: ProgramError if that line is not a JSON object.
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
