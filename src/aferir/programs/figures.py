"""Output of programs that are part of aferir: figures as samples and series."""

from __future__ import annotations

import msgspec

from aferir.errors import ProgramError
from aferir.model.record import Sample, Series, Warning
from aferir.programs.kernels import read_figures


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one repetition, as the program prints them in one line of JSON."""

    program: str
    verified: bool = True
    error: str = ""
    samples: tuple[Sample, ...]
    series: tuple[Series, ...] = ()
    doubts: tuple[Warning, ...] = ()


def parse_figures(stdout: str, program: str) -> tuple[Sample | Series | Warning, ...]:
    """The figures that the program printed. Errors: as for `Program.parse`."""
    try:
        figures = msgspec.convert(read_figures(stdout, program), Figures)
    except (msgspec.ValidationError, ValueError) as error:
        raise ProgramError(f"`{program}` printed no readable result: {error}") from None
    return (*figures.samples, *figures.series, *figures.doubts)
