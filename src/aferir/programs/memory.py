"""Sustained memory bandwidth: copy, scale, add and triad (McCalpin 1995, STREAM)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from aferir.machine import facts
from aferir.model.finding import Finding
from aferir.model.parameters import size, told, whole
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

PROGRAM = "memory-bandwidth"
OPERATIONS = ("copy", "scale", "add", "triad")
_ARRAYS = 3
_BASE = 16 * 2**20
_CACHE_FACTOR = 4
_USUAL_CACHES = 32 * 2**20
"""Assumed size of the caches in bytes if the kernel does not report it."""


class MemoryParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of three arrays that are larger than the caches."""

    threads: Threads = 1
    array_bytes: (
        Annotated[
            int,
            size(
                "of each of three arrays; smaller ones than by default are refused when the program"
                " starts, since caches would answer for the memory",
                *(2**20, 2**40),
                unset="four times the last-level caches",
            ),
        ]
        | None
    ) = None
    allow_small: Annotated[bool, told("take smaller arrays, and measure the caches")] = False
    repetitions: Annotated[int, whole("timed rounds, after one that is not", 1, 10_000)] = 20


class Memory(Program[MemoryParameters]):
    """Bandwidth of four operations on three arrays that are larger than the caches."""

    name = PROGRAM
    parameters = MemoryParameters

    def memory_bytes(self, parameters: MemoryParameters) -> int:
        """Bytes of the program and its arrays, by default several times this host's caches."""
        least = _CACHE_FACTOR * (facts.last_level_caches_bytes() or _USUAL_CACHES)
        return _BASE + _ARRAYS * (parameters.array_bytes or least)

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(PROGRAM, (PROGRAM,))

    def command(self, parameters: MemoryParameters) -> Command:
        """The command line. Errors: MissingError if the program was not built."""
        return Command(kernel_path(PROGRAM), options(parameters, always=("threads",)))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s`, one bandwidth per operation, and the size of an array, of a verified run.

        Errors: as for `Program.parse`.
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


MEMORY = Memory()
