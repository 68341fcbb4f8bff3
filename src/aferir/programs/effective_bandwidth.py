"""The effective bandwidth benchmark b_eff, and the rings and ping-pong of the HPC Challenge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.parameters import size, whole
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.declared import WhichMpi
from aferir.programs.kernels import positive, read_figures
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch

PROGRAM = "effective-bandwidth"
NATIVE = "b-eff"
METHODS = ("sendrecv", "alltoallv", "nonblocking")
CHALLENGE = (
    "ping_pong_latency_s",
    "ping_pong_bandwidth_bps",
    "natural_ring_latency_s",
    "natural_ring_bandwidth_bps",
    "random_ring_latency_s",
    "random_ring_bandwidth_bps",
)
"""Figures that the HPC Challenge measures as well; bandwidths are per process."""
_WHOLE = ("b_eff_bps", "rings_bps", "random_bps", "largest_message_bps")
_LARGEST_MESSAGE = 2**27
_MEMORY_OVER_LARGEST = 128
_PROCESS = 64 * 2**20


class EffectiveBandwidthParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the benchmark, for all its patterns, methods and message sizes."""

    processes: Annotated[int, whole("ranks of MPI", 2, MOST_PROCESSES)] = 2
    mpi: WhichMpi | None = None
    memory_bytes: Annotated[
        int,
        size("memory of a process, which decides the size of the largest message", 2**20, 2**45),
    ] = 2**31
    budget_ms: Annotated[
        int, whole("time for all patterns of one size by one method", 1, 60_000, unit="ms")
    ] = 500
    seed: Annotated[int, whole("seed of the random rings", 0, 2**31)] = 1
    repetitions: Annotated[
        int, whole("repetitions of all messages, of which the best counts; b_eff has three", 1, 3)
    ] = 3


class EffectiveBandwidth(Program[EffectiveBandwidthParameters]):
    """The benchmark: all ranks send messages around rings, in order and at random."""

    name = PROGRAM
    parameters = EffectiveBandwidthParameters

    def memory_bytes(self, parameters: EffectiveBandwidthParameters) -> int:
        """Memory in bytes of all processes: their MPI, and six largest messages each way."""
        largest = min(parameters.memory_bytes // _MEMORY_OVER_LARGEST, _LARGEST_MESSAGE)
        return parameters.processes * (_PROCESS + 12 * largest)

    def check(self) -> list[Finding]:
        """Whether an MPI and the program for it are installed."""
        return check_mpi(PROGRAM, (NATIVE,))

    def command(self, parameters: EffectiveBandwidthParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        values = {
            "--memory": parameters.memory_bytes,
            "--budget": parameters.budget_ms,
            "--seed": parameters.seed,
            "--repetitions": parameters.repetitions,
        }
        arguments = [word for pair in values.items() for word in map(str, pair)]
        return launch(NATIVE, arguments, processes=parameters.processes, mpi=parameters.mpi)

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """Bandwidths; b_eff's are sums over all processes. Errors: as `Program.parse`."""
        figures = read_figures(stdout, NATIVE)
        sizes = _positives(figures, "message_bytes")
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            *(Sample(name, positive(figures, name), "B/s") for name in _WHOLE),
            *challenge(figures),
            *(
                Series(
                    metric="bandwidth_bps",
                    unit="B/s",
                    values=_positives(figures, f"{pattern}_by_size_bps"),
                    along="message_bytes",
                    along_unit="B",
                    at=sizes,
                    label=pattern,
                )
                for pattern in ("rings", "random")
            ),
            Series(
                metric="bandwidth_by_method_bps",
                unit="B/s",
                values=tuple(positive(figures, f"{method}_bps") for method in METHODS),
                along="method",
                at=METHODS,
            ),
        )


def challenge(figures: Mapping[str, object]) -> tuple[Sample, ...]:
    """Latency and bandwidth as the HPC Challenge defines them. Errors: ProgramError."""
    return tuple(
        Sample(name, positive(figures, name), "s" if name.endswith("_s") else "B/s")
        for name in CHALLENGE
    )


def _positives(figures: Mapping[str, object], key: str) -> tuple[float, ...]:
    values = figures.get(key)
    if not isinstance(values, list) or not values:
        raise ProgramError(f"{NATIVE} printed no numbers as `{key}`")
    return tuple(positive({"program": NATIVE, key: value}, key) for value in values)


EFFECTIVE_BANDWIDTH = EffectiveBandwidth()
