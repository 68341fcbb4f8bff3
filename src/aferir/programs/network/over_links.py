"""Runs programs of Open MPI over a test network whose links are aggregated.

The command is `aferir aggregate run`, which creates hosts and links, starts the program over them
and removes them again. It runs in the native environment, as root.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.errors import ProgramError
from aferir.machine import bonding
from aferir.model.checking import Wrong
from aferir.model.network import METHODS, MODES, MOST_HOSTS, MOST_LINKS
from aferir.model.parameters import names, told, whole
from aferir.model.plan import EnvironmentKind
from aferir.model.record import Series
from aferir.programs.base import Command
from aferir.programs.kernels import document, kernel_path
from aferir.programs.mpi import Mpi

HOSTS, LINKS, RATE_MBIT = 2, 4, 100
"""Default hosts, links per host, and rate of a link in Mbit/s of a test network."""


class OverLinks(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of programs that run over the links of a test network if `method` is set."""

    method: (
        Annotated[
            str,
            told(
                "run over a test network, whose links are used as one in this way; takes root and"
                " Open MPI",
                words=METHODS,
                unset="no network of its own",
            ),
        ]
        | None
    ) = None
    links: Annotated[int, whole("links of each host", 1, MOST_LINKS, unset=f"{LINKS}")] | None = (
        None
    )
    rate_mbit: (
        Annotated[int, whole("rate of each link", 1, 100_000, unit="Mbit/s", unset=f"{RATE_MBIT}")]
        | None
    ) = None
    hosts: (
        Annotated[int, whole("hosts of the test network", 2, MOST_HOSTS, unset=f"{HOSTS}")] | None
    ) = None
    ranks_in: (
        Annotated[
            Literal["hosts", "containers"],
            told(
                "`containers`: one on each host, its network bridged over the links", unset="hosts"
            ),
        ]
        | None
    ) = None


KEYS = names(OverLinks)


def kinds_over_links(parameters: OverLinks) -> tuple[EnvironmentKind, ...]:
    """Kinds of environment in which the program can run: see `Program.kinds_of`."""
    return () if parameters.method is None else ("native",)


def wrong_over_links(parameters: OverLinks, processes: int, mpi: Mpi | None) -> list[Wrong]:
    """Report parameters of a test network that conflict: see `Program.validate`."""
    if parameters.method is None:
        return [
            Wrong(key, "is of a test network", "choose a `method` too, or leave it out")
            for key in KEYS
            if getattr(parameters, key) is not None
        ]
    if mpi not in (None, "openmpi"):
        return [Wrong("mpi", "only Open MPI is started over links", "leave it out")]
    hosts = parameters.hosts or HOSTS
    if processes < hosts:
        return [
            Wrong("hosts", f"{processes} ranks for {hosts}", "ask for at least as many `processes`")
        ]
    return []


def over_links(
    program: str, arguments: Sequence[str], parameters: OverLinks, processes: int
) -> Command:
    """Run `program` (without its `-openmpi`) over the links that the parameters describe.

    Errors: MissingError if it was not built, or the kernel lacks what the method needs.
    """
    if parameters.method in MODES:
        bonding.require(str(parameters.method))
    network = OverLinks(**{key: getattr(parameters, key) for key in KEYS})
    path = str(kernel_path(f"{program}-openmpi"))
    run = ["-m", "aferir", "aggregate", "run", "--json", "--ranks", str(processes)]
    run += ["--parameters", document(network)]
    return Command(Path(sys.executable), (*run, "--", path, *arguments))


def traffic_of_links(figures: Mapping[str, object]) -> tuple[Series, ...]:
    """Bytes that each link of the first host carried, if the program ran over links.

    Errors: ProgramError if the output cannot be parsed.
    """
    links = figures.get("link_bytes")
    if links is None:
        return ()
    if not isinstance(links, dict) or not all(isinstance(n, int) for n in links.values()):
        raise ProgramError(f"`link_bytes` is not readable: {str(links)[:60]}")
    return (
        Series(
            metric="link_traffic_bytes",
            unit="B",
            values=tuple(float(count) for count in links.values()),
            along="link",
            at=tuple(map(str, links)),
        ),
    )
