"""Peak rate of double-precision multiply-adds in registers: the flat part of a roofline."""

from __future__ import annotations

import msgspec

from aferir.model.finding import Finding
from aferir.model.record import Sample
from aferir.programs.base import Command, Program
from aferir.programs.declared import Threads
from aferir.programs.kernels import (
    check_kernels,
    kernel_path,
    options,
    positive,
    read_figures,
)

PROGRAM = "peak-flops"
_MEMORY = 16 * 2**20


class PeakParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the program."""

    threads: Threads = 1


class Peak(Program[PeakParameters]):
    """Peak rate with the best instruction set that the processor has."""

    name = PROGRAM
    parameters = PeakParameters

    def memory_bytes(self, parameters: PeakParameters) -> int:
        """Memory in bytes of the program itself."""
        return _MEMORY

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(PROGRAM, (PROGRAM,))

    def command(self, parameters: PeakParameters) -> Command:
        """The command line. Errors: MissingError if the program was not built."""
        return Command(kernel_path(PROGRAM), options(parameters, always=("threads",)))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` and `peak_flops` of a verified run. Errors: as for `Program.parse`."""
        figures = read_figures(stdout, PROGRAM)
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("peak_flops", positive(figures, "peak_flops"), "flop/s"),
        )


PEAK = Peak()
