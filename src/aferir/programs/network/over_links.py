"""Programs of Open MPI over a test network whose links are used as one.

The command is aferir itself (`aferir aggregate run`), which makes hosts and links, starts the
program over them and removes them again; so it runs in the native environment, as root.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from aferir.errors import ProgramError
from aferir.model.network import METHODS, MOST_HOSTS, MOST_LINKS
from aferir.model.plan import Parameter
from aferir.model.record import Series
from aferir.programs.base import Command
from aferir.programs.kernels import kernel_path, wrong_integer

_WHOLE = {"links": (1, MOST_LINKS), "rate_mbit": (1, 100_000), "hosts": (2, MOST_HOSTS)}
_RANKS_IN = ("hosts", "containers")
PARAMETERS = ("method", *_WHOLE, "ranks_in")
"""What a program that may run over links knows besides its own; `method` is what makes it do so."""


def is_over_links(parameters: Mapping[str, Parameter]) -> bool:
    """Whether the program is to have a network of its own."""
    return "method" in parameters


def wrong_over_links(parameters: Mapping[str, Parameter], processes: int) -> list[str]:
    """Sentences as of `Workload.validate`."""
    if not is_over_links(parameters):
        return [
            f"{key}: is of a test network; choose a `method` too, or leave it out"
            for key in PARAMETERS
            if key in parameters
        ]
    wrong = []
    if parameters["method"] not in METHODS:
        said = f"{parameters['method']!r} is not known"
        wrong.append(f"method: {said}; choose one of {', '.join(METHODS)}")
    if parameters.get("ranks_in", _RANKS_IN[0]) not in _RANKS_IN:
        said = f"{parameters['ranks_in']!r} is not known"
        wrong.append(f"ranks_in: {said}; choose {' or '.join(_RANKS_IN)}")
    for key, (least, most) in _WHOLE.items():
        wrong += wrong_integer(parameters, key, least, most)
    if parameters.get("mpi", "openmpi") != "openmpi":
        wrong.append("mpi: only Open MPI is started over links; leave it out")
    hosts = parameters.get("hosts", 2)
    if not wrong and isinstance(hosts, int) and processes < hosts:
        wrong.append(f"hosts: {processes} ranks for {hosts}; ask for at least as many `processes`")
    return wrong


def over_links(
    program: str, arguments: Sequence[str], parameters: Mapping[str, Parameter], processes: int
) -> Command:
    """Run `program` (without its `-openmpi`) over the links that the parameters describe.

    Errors: MissingError where it was not built.
    """
    given = [
        word
        for key in PARAMETERS
        if key in parameters
        for word in (f"--{key.replace('_', '-')}", str(parameters[key]))
    ]
    path = str(kernel_path(f"{program}-openmpi"))
    run = ["-m", "aferir", "aggregate", "run", "--json", *given, "--ranks", str(processes)]
    return Command(Path(sys.executable), (*run, "--", path, *arguments))


def traffic_of_links(figures: Mapping[str, object]) -> tuple[Series, ...]:
    """What each link of the first host carried, where the program ran over links.

    Errors: ProgramError where that is unreadable.
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
