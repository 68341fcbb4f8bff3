"""Latency and throughput of a network by size of messages: our own sweep, over TCP or MPI.

Both ends run in the instance, over its loopback, unless a server's address or network namespaces
are named. What the figures mean: docs/concepts/network.md.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from aferir.errors import ProgramError
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import size, text, told, whole
from aferir.model.plan import EnvironmentKind
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.declared import WhichMpi
from aferir.programs.kernels import (
    check_kernels,
    finite,
    kernel_path,
    options,
    positive,
    read_figures,
)
from aferir.programs.mpi import check_mpi, launch
from aferir.programs.network.ends import two_hosts
from aferir.programs.network.over_links import (
    OverLinks,
    kinds_over_links,
    over_links,
    traffic_of_links,
    wrong_over_links,
)

PROGRAM = "net-sweep"
MPI_PROGRAM = "net-sweep-mpi"
MOST_PAIRS = 512
MOST_MESSAGE = 2**30 - 1024
QUANTILES = {"min_s": "min", "p50_s": "p50", "p90_s": "p90", "p99_s": "p99", "p999_s": "p99.9"}

_TCP_ALONE = (
    *("port", "buffer_bytes", "client_cpu", "server_cpu"),
    *("server", "address", "token", "client_netns", "server_netns"),
)
_PLACED = ("server", "address", "client_netns", "server_netns")
_ON = (
    *("mode", "pairs", "least_bytes", "most_bytes", "perturbation"),
    *("trials", "trial_ms", "rounds"),
)
_BASE = 16 * 2**20


def address(written: str) -> str:
    """Check an IPv4 or IPv6 address, and return it. Errors: ValueError with the reason."""
    try:
        return str(ipaddress.ip_address(written))
    except ValueError:
        raise ValueError("is no address") from None


def short_word(written: str) -> str:
    """Check that a word is not an option, and return it. Errors: ValueError with the reason."""
    if written.startswith("-"):
        raise ValueError("starts with a dash")
    return written


Transport = Annotated[Literal["tcp", "mpi"], told("what carries the messages")]
Mode = Literal["blocking", "async", "bidirectional", "stream"]
_Cpu = Annotated[int, whole("processor to run on", 0, 1023, unset="any")]
_Netns = Annotated[
    str,
    text(
        "network namespace to be in, as root",
        "host1",
        parse=short_word,
        pattern="^[^-]",
        longest=32,
        unset="none",
    ),
]
_ADDRESS = "^[0-9a-fA-F:.]+(%.+)?$"


class NetworkParameters(OverLinks, frozen=True, kw_only=True):
    """Parameters of one sweep over a range of message sizes."""

    transport: Transport = "tcp"
    mode: Annotated[Mode, told("how both ends take turns")] = "blocking"
    mpi: WhichMpi | None = None
    pairs: Annotated[int, whole("concurrent connections, or pairs of ranks", 1, MOST_PAIRS)] = 1
    least_bytes: Annotated[int, size("size of the smallest message", 1, MOST_MESSAGE)] = 1
    most_bytes: Annotated[int, size("size of the largest message", 1, MOST_MESSAGE)] = 2**20
    perturbation: Annotated[
        int, whole("each size also with so many bytes less and more", 0, 1024)
    ] = 3
    trials: Annotated[int, whole("trials of each size", 1, 1000)] = 3
    trial_ms: Annotated[int, whole("length of a trial", 1, 60_000, unit="ms")] = 50
    rounds: (
        Annotated[int, whole("round trips of a trial", 1, 100_000_000, unset="as `trial_ms` says")]
        | None
    ) = None
    port: Annotated[int, whole("port of the server", 1, 65535, unset="any free one")] | None = None
    buffer_bytes: (
        Annotated[
            int, size("size of the sockets' buffers", 1024, 2**30, unset="tuned by the kernel")
        ]
        | None
    ) = None
    client_cpu: _Cpu | None = None
    server_cpu: _Cpu | None = None
    server: (
        Annotated[
            str,
            text(
                "address of a server that runs elsewhere",
                "10.0.0.2",
                parse=address,
                pattern=_ADDRESS,
                unset="both ends are here",
            ),
        ]
        | None
    ) = None
    address: (
        Annotated[
            str,
            text(
                "where a server that is started here listens",
                "10.0.0.1",
                parse=address,
                pattern=_ADDRESS,
                unset="127.0.0.1",
            ),
        ]
        | None
    ) = None
    token: (
        Annotated[
            str,
            text(
                "what both ends must have; others are turned away",
                "secret",
                parse=short_word,
                pattern="^[^-]",
                longest=32,
                unset="none",
            ),
        ]
        | None
    ) = None
    client_netns: _Netns | None = None
    server_netns: _Netns | None = None


class NetworkSweep(Program[NetworkParameters]):
    """Measures latency and throughput of a network over a range of message sizes."""

    name = PROGRAM
    parameters = NetworkParameters

    def validate(self, parameters: NetworkParameters) -> list[Wrong]:
        """Check that parameters of the other transport are not set, and that sizes are in order."""
        wrong = _contradictions(parameters)
        return wrong or wrong_over_links(parameters, 2 * parameters.pairs, parameters.mpi)

    def kinds_of(self, parameters: NetworkParameters) -> tuple[EnvironmentKind, ...]:
        """Only native if a test network is requested, which only the host can create; else all."""
        return kinds_over_links(parameters)

    def memory_bytes(self, parameters: NetworkParameters) -> int:
        """Memory in bytes of two buffers at each end of each pair, and of the programs."""
        each = _BASE if parameters.transport == "mpi" else 0
        return _BASE + parameters.pairs * (4 * parameters.most_bytes + 2 * each)

    def check(self) -> list[Finding]:
        """Whether the programs are installed; without an MPI, only TCP is available."""
        mpi = check_mpi(MPI_PROGRAM, (MPI_PROGRAM,))
        degraded = [
            Finding(
                f.subject, "degraded" if f.status == "missing" else f.status, f.message, f.remedy
            )
            for f in mpi
        ]
        return [*check_kernels(PROGRAM, (PROGRAM,)), *degraded]

    def command(self, parameters: NetworkParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        if parameters.transport == "mpi":
            ranks, words = 2 * parameters.pairs, options(parameters, _ON)
            if parameters.method is not None:
                return over_links(MPI_PROGRAM, words, parameters, ranks)
            return launch(MPI_PROGRAM, words, processes=ranks, mpi=parameters.mpi)
        path, words = kernel_path(PROGRAM), options(parameters, (*_ON, *_TCP_ALONE))
        return Command(path, words, there=_between_hosts(path, parameters))

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """Samples of the whole sweep, and curves of each figure over message sizes.

        `duration_s` is the sum of the times of one message of each size; `least_latency_s` and
        `most_throughput_bps` are the best of all sizes. Errors: as for `Program.parse`.
        """
        figures = read_figures(stdout, PROGRAM)
        sizes = _sizes(figures)
        stream = figures.get("mode") == "stream"
        latencies = [positive(size, "latency_s") for size in sizes]
        throughputs = [positive(size, "throughput_bps") for size in sizes]
        places = tuple(positive(size, "message_bytes") for size in sizes)
        samples = [
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("most_throughput_bps", max(throughputs), "B/s"),
        ]
        series = [curve("throughput_bps", "B/s", tuple(throughputs), places)]
        if not stream:  # the time that a sender waits is not a message's latency
            samples.append(Sample("least_latency_s", min(latencies), "s"))
            series.append(curve("latency_s", "s", tuple(latencies), places))
            series += _labelled(sizes, "latency_quantile_s", QUANTILES)
            series += _labelled(sizes, "one_way_s", {"there_s": "there", "back_s": "back"})
        return (*samples, *series, *traffic_of_links(figures))


def _between_hosts(path: Path, parameters: NetworkParameters) -> Command | None:
    """Command with the server on the second host; None if parameters say where the server is."""
    if any(getattr(parameters, key) is not None for key in _PLACED):
        return None
    of_both = options(parameters, ("port", "token", "buffer_bytes"))
    server = [f"$AFERIR_PROGRAMS/{path.name}", "--serve", "--address", "@", *of_both]
    server += options(parameters, ("server_cpu",))
    client = [f"$AFERIR_PROGRAMS/{path.name}", "--server", "@", *of_both]
    client += options(parameters, (*_ON, "client_cpu"))
    return two_hosts(" ".join(server), " ".join(client), files=(path,))


def curve(
    metric: str, unit: str, values: tuple[float, ...], at: tuple[float, ...], label: str = ""
) -> Series:
    """Series of values over message sizes."""
    return Series(
        metric=metric,
        unit=unit,
        values=values,
        along="message_bytes",
        along_unit="B",
        at=at,
        label=label,
    )


def _sizes(figures: dict[str, object]) -> list[dict[str, object]]:
    sizes = figures.get("sizes")
    if not isinstance(sizes, list) or not sizes or not all(isinstance(s, dict) for s in sizes):
        raise ProgramError(f"{figures.get('program')} printed no `sizes` that can be read")
    return [{"program": figures.get("program"), **size} for size in sizes]


def _labelled(
    sizes: Sequence[Mapping[str, object]], metric: str, labels: Mapping[str, str]
) -> list[Series]:
    """One curve for each key that any size has: few round trips give no high quantiles."""
    found = []
    for key, label in labels.items():
        having = [size for size in sizes if size.get(key) is not None]
        # A one-way delay may be negative, by up to the offset between two clocks.
        values = tuple(finite(size, key) for size in having)
        if having:
            at = tuple(positive(size, "message_bytes") for size in having)
            found.append(curve(metric, "s", values, at, label))
    return found


def _contradictions(parameters: NetworkParameters) -> list[Wrong]:
    least, most = parameters.least_bytes, parameters.most_bytes
    if least > most:
        return [Wrong("least_bytes", f"{least} is above most_bytes, {most}", "swap them")]
    mpi = parameters.transport == "mpi"
    foreign = [key for key in _TCP_ALONE if mpi and getattr(parameters, key) is not None]
    if foreign:
        remedy = "leave it out, or set transport to `tcp`"
        return [Wrong(foreign[0], "it is of TCP alone", remedy)]
    if not mpi and parameters.method is not None:
        return [Wrong("method", "links are for the transport `mpi`", "set transport to it")]
    if not mpi and parameters.mpi is not None:
        return [Wrong("mpi", "it is of MPI alone", "leave it out, or set transport to `mpi`")]
    return []


NETWORK = NetworkSweep()
