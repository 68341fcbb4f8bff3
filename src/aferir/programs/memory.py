"""Sustained memory bandwidth: copy, scale, add and triad (McCalpin 1995, STREAM)."""

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

PROGRAM = "memory-bandwidth"
OPERATIONS = ("copy", "scale", "add", "triad")
_LEAST_ARRAY = 2**20
_MOST_ARRAY = 2**40
_ARRAYS = 3
_BASE = 16 * 2**20
_DEFAULT_ARRAY = 128 * 2**20
"""What is reckoned with where the program chooses: four times a usual last-level cache."""


class MemoryWorkload:
    """Three arrays larger than the caches; parameters `threads`, `array_bytes`, `allow_small`."""

    program = PROGRAM
    parameters: tuple[str, ...] = ("threads", "array_bytes", "allow_small")

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`threads` is 1 unless given, `array_bytes` four times the last-level caches.

        The program refuses smaller arrays unless `allow_small`: caches would answer for the memory.
        """
        wrong = wrong_integer(parameters, "threads", 1, MOST_THREADS)
        if "array_bytes" in parameters:
            wrong += wrong_integer(parameters, "array_bytes", _LEAST_ARRAY, _MOST_ARRAY)
        small = parameters.get("allow_small", False)
        if not isinstance(small, bool):
            wrong.append(f"allow_small: {small!r} is not possible; write `true` or `false`")
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Bytes of the three arrays and the program itself."""
        array = parameters.get("array_bytes", _DEFAULT_ARRAY)
        return _BASE + _ARRAYS * (array if isinstance(array, int) else _DEFAULT_ARRAY)

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(PROGRAM, (PROGRAM,))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built."""
        arguments = ["--threads", str(threads_of(parameters))]
        if "array_bytes" in parameters:
            arguments += ["--array-bytes", str(parameters["array_bytes"])]
        if parameters.get("allow_small"):
            arguments.append("--allow-small")
        return Command(kernel_path(PROGRAM), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s`, one bandwidth per operation and the size of an array; verified runs alone.

        Errors: as in `Workload.parse`.
        """
        figures = read_figures(stdout, PROGRAM)
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            *(
                Sample(f"{operation}_bps", positive(figures, f"{operation}_bps"), "B/s")
                for operation in OPERATIONS
            ),
            Sample("array_bytes", positive(figures, "array_bytes"), "B"),
        )


MEMORY = MemoryWorkload()
