"""Peak rate of double-precision multiply-adds in registers: the flat part of a roofline."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.programs.base import Command
from aferir.programs.kernels import (
    MOST_THREADS,
    check_kernels,
    kernel_path,
    positive,
    read_figures,
    threads_of,
    wrong_integer,
)

PROGRAM = "peak-flops"
_MEMORY = 16 * 2**20


class PeakWorkload:
    """The best of the processor's instruction-set levels; parameter `threads`."""

    program = PROGRAM
    parameters: tuple[str, ...] = ("threads",)

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`threads` is 1 unless given."""
        return wrong_integer(parameters, "threads", 1, MOST_THREADS)

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """The program itself."""
        return _MEMORY

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(PROGRAM, (PROGRAM,))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built."""
        return Command(kernel_path(PROGRAM), ("--threads", str(threads_of(parameters))))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` and `peak_flops` of a verified run; errors as in `Workload.parse`."""
        figures = read_figures(stdout, PROGRAM)
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("peak_flops", positive(figures, "peak_flops"), "flop/s"),
        )


PEAK = PeakWorkload()
