"""Common parts of aferir's I/O programs: options with bounds, a folder for files, figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import msgspec

from aferir.model.finding import Finding
from aferir.model.parameters import names, told, whole
from aferir.model.plan import SCRATCH, Parameter
from aferir.model.record import Sample
from aferir.programs.base import TIMED, VOLUME, Command, Program
from aferir.programs.declared import FOLDER, Folder
from aferir.programs.kernels import (
    check_kernels,
    finite,
    kernel_path,
    options,
    positive,
    read_figures,
)

MOST_BYTES = 2**45
MOST_INSTANCES = 1024
_Values = TypeVar("_Values", bound="IoParameters")

Instances = Annotated[int, whole("processes with a file of their own each", 1, MOST_INSTANCES)]
Terms = Annotated[int, whole("different terms", 1, 2**24)]


class IoParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of all programs of I/O."""

    seed: Annotated[int, whole("seed of the data; the same seed repeats the bytes", 0, 2**62)] = 1
    folder: Folder = FOLDER
    cold: Annotated[
        bool, told("remove the files that are read from the page cache before the timed region")
    ] = False


class IoProgram(Program[_Values]):
    """One native program of I/O: see docs/reference/io-programs.md."""

    def __init__(
        self,
        name: str,
        parameters: type[_Values],
        *,
        memory: Callable[[_Values], int],
        short: tuple[Mapping[str, Parameter], ...],
        figures: Mapping[str, str] | None = None,
    ) -> None:
        """`memory` returns bytes; `figures`: units of additional figures that the program prints.

        All programs print duration, volume and operations.
        """
        self.name = name
        self.parameters = parameters
        self.short_io = short
        self._memory = memory
        self._figures = dict(figures or {})

    def memory_bytes(self, parameters: _Values) -> int:
        """Memory in bytes of all its processes, without the page cache."""
        return self._memory(parameters)

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(self.name, (self.name,))

    def command(self, parameters: _Values) -> Command:
        """The command line. Errors: MissingError if the program was not built."""
        passed = [key for key in names(self.parameters) if key != "folder"]
        words = options(parameters, passed, always=passed)
        return Command(kernel_path(self.name), words, {SCRATCH: parameters.folder})

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """Time, volume and operations of the timed region, and the program's additional figures.

        Errors: as for `Program.parse`.
        """
        figures = read_figures(stdout, self.name)
        duration = positive(figures, "duration_s")
        volume = finite(figures, "bytes_read") + finite(figures, "bytes_written")
        return (
            Sample("duration_s", duration, "s"),
            Sample(VOLUME, volume, "B"),
            Sample("operations", positive(figures, "operations"), "1"),
            Sample("throughput_bps", volume / duration, "B/s"),
            *(Sample(name, finite(figures, name), unit) for name, unit in self._figures.items()),
            *timed(figures),
        )


def timed(figures: Mapping[str, object]) -> list[Sample]:
    """CPU time of the timed region only, without the data set, if the program reports it."""
    return [
        Sample(f"{TIMED}_{part}_s", finite(figures, f"{part}_s"), "s")
        for part in ("user", "system")
        if f"{part}_s" in figures
    ]
