"""Latency and throughput of a network by size of messages: our own sweep, over TCP or MPI.

Both ends run in the instance, over its loopback, unless a server's address or network namespaces
are named. What the figures mean: docs/concepts/network.md.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Command
from aferir.programs.kernels import (
    check_kernels,
    finite,
    kernel_path,
    positive,
    read_figures,
    wrong_integer,
)
from aferir.programs.mpi import check_mpi, launch, mpi_of, wrong_mpi
from aferir.programs.network.over_links import (
    PARAMETERS,
    is_over_links,
    over_links,
    traffic_of_links,
    wrong_over_links,
)

PROGRAM = "net-sweep"
MPI_PROGRAM = "net-sweep-mpi"
TRANSPORTS = ("tcp", "mpi")
MODES = ("blocking", "async", "bidirectional", "stream")
MOST_PAIRS = 512
MOST_MESSAGE = 2**30 - 1024
QUANTILES = {"min_s": "min", "p50_s": "p50", "p90_s": "p90", "p99_s": "p99", "p999_s": "p99.9"}

_NUMBERS = {
    "pairs": (1, MOST_PAIRS),
    "least_bytes": (1, MOST_MESSAGE),
    "most_bytes": (1, MOST_MESSAGE),
    "perturbation": (0, 1024),
    "trials": (1, 1000),
    "trial_ms": (1, 60_000),
    "rounds": (1, 100_000_000),
}
_TCP_NUMBERS = {
    "port": (1, 65535),
    "buffer_bytes": (1024, 2**30),
    "client_cpu": (0, 1023),
    "server_cpu": (0, 1023),
}
_TCP_TEXTS = ("server", "address", "token", "client_netns", "server_netns")
_DEFAULT_MOST = 2**20
_BASE = 16 * 2**20


class NetworkWorkload:
    """One sweep over sizes of messages."""

    program = PROGRAM
    parameters: tuple[str, ...] = (
        "transport", "mode", "mpi", *_NUMBERS, *_TCP_NUMBERS, *_TCP_TEXTS, *PARAMETERS,
    )  # fmt: skip

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`transport` is tcp and `mode` blocking unless given."""
        wrong = one_of(parameters, "transport", TRANSPORTS) + one_of(parameters, "mode", MODES)
        for key, (low, high) in (_NUMBERS | _TCP_NUMBERS).items():
            if key in parameters:
                wrong += wrong_integer(parameters, key, low, high)
        for key in _TCP_TEXTS:
            wrong += _wrong_text(key, parameters.get(key, "x"))
        for key in ("server", "address"):
            wrong += _wrong_address(key, parameters.get(key, "127.0.0.1"))
        if "mpi" in parameters:
            wrong += wrong_mpi(parameters)
        wrong = wrong or _contradictions(parameters)
        return wrong or wrong_over_links(parameters, _ranks(parameters))

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Two buffers at each end of each pair, and the programs."""
        pairs, most = parameters.get("pairs", 1), parameters.get("most_bytes", _DEFAULT_MOST)
        if not isinstance(pairs, int) or not isinstance(most, int):
            return _BASE
        each = _BASE if parameters.get("transport") == "mpi" else 0
        return _BASE + pairs * (4 * most + 2 * each)

    def check(self) -> list[Finding]:
        """Whether the programs are installed; without an MPI, TCP is left."""
        mpi = check_mpi(MPI_PROGRAM, (MPI_PROGRAM,))
        degraded = [
            Finding(
                f.subject, "degraded" if f.status == "missing" else f.status, f.message, f.remedy
            )
            for f in mpi
        ]
        return [*check_kernels(PROGRAM, (PROGRAM,)), *degraded]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built, or its MPI is missing."""
        keys = ["mode", *_NUMBERS]
        if parameters.get("transport") == "mpi":
            ranks, words = _ranks(parameters), _options(parameters, keys)
            if is_over_links(parameters):
                return over_links(MPI_PROGRAM, words, parameters, ranks)
            return launch(MPI_PROGRAM, words, processes=ranks, mpi=mpi_of(parameters))
        keys += [*_TCP_NUMBERS, *_TCP_TEXTS]
        return Command(kernel_path(PROGRAM), _options(parameters, keys))

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """Samples of the whole sweep, and curves of each figure over the sizes of messages.

        `duration_s` is what one message of each size takes, `least_latency_s` and
        `most_throughput_bps` are the best of all sizes. Errors: as in `Workload.parse`.
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
        if not stream:  # what a sender waits for is not what a message takes
            samples.append(Sample("least_latency_s", min(latencies), "s"))
            series.append(curve("latency_s", "s", tuple(latencies), places))
            series += _labelled(sizes, "latency_quantile_s", QUANTILES)
            series += _labelled(sizes, "one_way_s", {"there_s": "there", "back_s": "back"})
        return (*samples, *series, *traffic_of_links(figures))


def curve(
    metric: str, unit: str, values: tuple[float, ...], at: tuple[float, ...], label: str = ""
) -> Series:
    """Values along the sizes of messages."""
    return Series(
        metric=metric,
        unit=unit,
        values=values,
        along="message_bytes",
        along_unit="B",
        at=at,
        label=label,
    )


def one_of(parameters: Mapping[str, Parameter], key: str, known: tuple[str, ...]) -> list[str]:
    """A sentence where a parameter is given and none of the known words."""
    value = parameters.get(key, known[0])
    return [] if value in known else [f"{key}: {value!r} is not known; choose {', '.join(known)}"]


def _ranks(parameters: Mapping[str, Parameter]) -> int:
    pairs = parameters.get("pairs", 1)
    return 2 * pairs if isinstance(pairs, int) else 2


def _sizes(figures: dict[str, object]) -> list[dict[str, object]]:
    sizes = figures.get("sizes")
    if not isinstance(sizes, list) or not sizes or not all(isinstance(s, dict) for s in sizes):
        raise ProgramError(f"{figures.get('program')} printed no `sizes` that can be read")
    return [{"program": figures.get("program"), **size} for size in sizes]


def _labelled(
    sizes: Sequence[Mapping[str, object]], metric: str, labels: Mapping[str, str]
) -> list[Series]:
    """One curve for each key that any size has: too few round trips have no far quantiles."""
    found = []
    for key, label in labels.items():
        having = [size for size in sizes if size.get(key) is not None]
        # A one-way delay may be below 0 by as much as two clocks differ.
        values = tuple(finite(size, key) for size in having)
        if having:
            at = tuple(positive(size, "message_bytes") for size in having)
            found.append(curve(metric, "s", values, at, label))
    return found


def _options(parameters: Mapping[str, Parameter], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        word
        for key in keys
        if key in parameters
        for word in (f"--{key.replace('_', '-')}", str(parameters[key]))
    )


def _wrong_text(key: str, value: Parameter) -> list[str]:
    if isinstance(value, str) and 0 < len(value) <= 32 and value.isprintable() and value[0] != "-":
        return []
    return [f"{key}: {value!r} is not possible; write 1 to 32 letters in quotes"]


def _wrong_address(key: str, value: Parameter) -> list[str]:
    try:
        ipaddress.ip_address(value if isinstance(value, str) else "")
    except ValueError:
        return [f"{key}: {value!r} is no address; write an IPv4 or IPv6 address in quotes"]
    return []


def _contradictions(parameters: Mapping[str, Parameter]) -> list[str]:
    least, most = parameters.get("least_bytes", 1), parameters.get("most_bytes", _DEFAULT_MOST)
    if isinstance(least, int) and isinstance(most, int) and least > most:
        return [f"least_bytes: {least} is above most_bytes, {most}; swap them"]
    mpi = parameters.get("transport") == "mpi"
    foreign = [key for key in (*_TCP_NUMBERS, *_TCP_TEXTS) if mpi and key in parameters]
    if foreign:
        return [f"{foreign[0]}: it is of TCP alone; leave it out, or set transport to `tcp`"]
    if not mpi and is_over_links(parameters):
        return ["method: links are for the transport `mpi`; set transport to it"]
    if not mpi and "mpi" in parameters:
        return ["mpi: it is of MPI alone; leave it out, or set transport to `mpi`"]
    return []


NETWORK = NetworkWorkload()
