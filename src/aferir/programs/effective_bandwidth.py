"""The effective bandwidth benchmark b_eff, and the rings and ping-pong of the HPC Challenge."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Command
from aferir.programs.kernels import positive, read_figures, wrong_integer
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch, mpi_of, wrong_mpi

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
"""Those that the HPC Challenge measures as well; bandwidths are of one process."""
_WHOLE = ("b_eff_bps", "rings_bps", "random_bps", "largest_message_bps")
_MEMORY = 2**31
_LARGEST_MESSAGE = 2**27
_MEMORY_OVER_LARGEST = 128
_PROCESS = 64 * 2**20
_OPTIONS: Mapping[str, tuple[str, int, int]] = {
    "memory_bytes": ("--memory", 2**20, 2**45),
    "budget_ms": ("--budget", 1, 60_000),
    "seed": ("--seed", 0, 2**31),
}


class EffectiveBandwidthWorkload:
    """Parameters `processes`, `mpi`, `memory_bytes` of a process, `budget_ms`, `seed`."""

    program = PROGRAM
    parameters: tuple[str, ...] = ("processes", "mpi", *_OPTIONS)

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`processes` is 2 unless given; the others have defaults."""
        wrong = wrong_mpi(parameters)
        if "processes" in parameters:
            wrong += wrong_integer(parameters, "processes", 2, MOST_PROCESSES)
        for key, (_, low, high) in _OPTIONS.items():
            if key in parameters:
                wrong += wrong_integer(parameters, key, low, high)
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of each process: its MPI, and six messages each way."""
        memory = parameters.get("memory_bytes", _MEMORY)
        largest = min(
            memory // _MEMORY_OVER_LARGEST if isinstance(memory, int) else 0, _LARGEST_MESSAGE
        )
        return _processes(parameters) * (_PROCESS + 12 * largest)

    def check(self) -> list[Finding]:
        """Whether an MPI is here, and our program for it."""
        return check_mpi(PROGRAM, (NATIVE,))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built, or its MPI is missing."""
        arguments = [
            word
            for key, (option, _, _) in _OPTIONS.items()
            if key in parameters
            for word in (option, str(parameters[key]))
        ]
        return launch(NATIVE, arguments, processes=_processes(parameters), mpi=mpi_of(parameters))

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """Bandwidths, those of b_eff of all processes together; errors as in `Workload.parse`."""
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


def _processes(parameters: Mapping[str, Parameter]) -> int:
    processes = parameters.get("processes", 2)
    return processes if isinstance(processes, int) else 2


EFFECTIVE_BANDWIDTH = EffectiveBandwidthWorkload()
