"""Flow through a porous medium, by lattice Boltzmann: docs/reference/lattice-boltzmann.md.

With threads alone it is a static program that runs everywhere; with `processes` it needs an MPI.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.errors import MissingError
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import number, text, told, whole
from aferir.model.record import Sample
from aferir.programs.base import Command, Program
from aferir.programs.declared import MOST_THREADS, Isa, WhichMpi, absolute
from aferir.programs.kernels import (
    check_kernels,
    finite,
    kernel_path,
    options,
    positive,
    read_figures,
)
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch

PROGRAM = "lattice-boltzmann"
BY_MESSAGES = "lattice-boltzmann-mpi"
IN_32_BITS = "lattice-boltzmann-32"
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})")
_MOST_EDGE = 2**14
_PROCESS = 64 * 2**20
_CELL = 19 * 8 + 24
"""Bytes per cell: 19 populations of 8 bytes, and 24 for indices and for the setup."""
_PASSED_ON = (
    *("geometry", "fraction", "diameter", "number", "edge", "voxels", "ends", "viscosity"),
    *("steps", "threads", "isa", "block_steps", "roofline"),
)


class Box(msgspec.Struct, frozen=True):
    """Length, height and width of a box, in cells."""

    length: int
    height: int
    width: int

    @classmethod
    def parse(cls, written: str) -> Box:
        """Parse a box written like `64x64x64`. Errors: ValueError with the reason."""
        found = _SIZE.fullmatch(written)
        edges = tuple(map(int, found.groups())) if found else (0, 0, 0)
        if min(edges) < 1 or max(edges) > _MOST_EDGE:
            raise ValueError(f"is no box of at most {_MOST_EDGE} cells a side")
        return cls(*edges)

    def __str__(self) -> str:
        """Text of the box, in the form that `parse` reads."""
        return f"{self.length}x{self.height}x{self.width}"


class LatticeBoltzmannParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one flow."""

    geometry: Annotated[
        Literal["slit", "duct", "sc", "bcc", "fcc", "packing", "blocks", "file"],
        told("geometry of the flow"),
    ]
    size: Annotated[
        Box,
        text(
            "length x height x width in cells",
            "64x64x64",
            parse=Box.parse,
            pattern=f"^{_SIZE.pattern}$",
        ),
    ] = Box(64, 64, 64)
    fraction: Annotated[float, number("share of the spheres in the volume", 0.0, 0.99)] = 0.2
    diameter: Annotated[int, whole("diameter of random spheres, in cells", 2, _MOST_EDGE)] = 16
    number: Annotated[int, whole("seed of the places of random spheres", 0, 2**62)] = 1
    edge: Annotated[int, whole("edge of cubes, in cells", 2, _MOST_EDGE)] = 16
    voxels: (
        Annotated[
            str,
            text(
                'file of `geometry = "file"`',
                "/data/rock.raw",
                parse=absolute,
                pattern="^/",
                unset="none",
            ),
        ]
        | None
    ) = None
    ends: Annotated[
        Literal["periodic", "pressure"],
        told("what leaves at one end enters at the other; `pressure`: the pressure jumps there"),
    ] = "periodic"
    viscosity: Annotated[float, number("in lattice units", 0.001, 10.0)] = 1.0
    steps: (
        Annotated[int, whole("time steps", 0, 100_000_000, unset="until the flow is steady")] | None
    ) = None
    threads: Annotated[int, whole("threads of each process", 1, MOST_THREADS)] = 1
    processes: (
        Annotated[int, whole("number of MPI processes", 1, MOST_PROCESSES, unset="no MPI")] | None
    ) = None
    mpi: WhichMpi | None = None
    isa: Isa | None = None
    block_steps: (
        Annotated[
            int,
            whole(
                "time steps in one pass over the memory",
                *(0, 64),
                unset="what half of the thread's share of the last-level cache holds",
            ),
        ]
        | None
    ) = None
    bits: Annotated[
        Literal[32, 64], told("word size of the program; 32: with threads only, not with MPI")
    ] = 64
    grow: Annotated[
        bool, told("the box is as many times as wide as there are threads: weak scaling")
    ] = False
    roofline: Annotated[bool, told("measure the memory's bandwidth right after")] = False


class LatticeBoltzmann(Program[LatticeBoltzmannParameters]):
    """One flow, computed by threads or by processes."""

    name = PROGRAM
    parameters = LatticeBoltzmannParameters

    def validate(self, parameters: LatticeBoltzmannParameters) -> list[Wrong]:
        """Check which parameters fit the geometry and the number of bits."""
        return _wrong_together(parameters)

    def memory_bytes(self, parameters: LatticeBoltzmannParameters) -> int:
        """Bytes of processes and cells; a geometry in a file is assumed to have `size`."""
        box = _grown(parameters)
        cells = box.length * box.height * box.width
        return (parameters.processes or 1) * _PROCESS + cells * _CELL

    def check(self) -> list[Finding]:
        """Whether the program for threads is installed, and the programs for an MPI."""
        # Threads need no MPI: if one is missing, only `processes` is not available.
        by_messages = [
            finding
            if finding.status == "ok"
            else Finding(finding.subject, "degraded", finding.message, finding.remedy)
            for finding in check_mpi(PROGRAM, (BY_MESSAGES,))
        ]
        return [*check_kernels(PROGRAM, (PROGRAM,)), *by_messages]

    def command(self, parameters: LatticeBoltzmannParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        arguments = options(parameters, _PASSED_ON, always=("geometry", "threads"))
        if parameters.geometry != "file":
            arguments += ("--size", str(_grown(parameters)))
        if parameters.processes is None:
            name = IN_32_BITS if parameters.bits == 32 else PROGRAM
            return Command(_program(name), arguments)
        return launch(BY_MESSAGES, arguments, processes=parameters.processes, mpi=parameters.mpi)

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` of all steps, speeds, and properties of the flow if it is steady.

        Errors: as for `Program.parse`.
        """
        figures = read_figures(stdout, PROGRAM)
        samples = [
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("throughput_mflups", positive(figures, "mflups"), "MFLUP/s"),
            Sample("throughput_gflops", positive(figures, "gflops"), "Gflop/s"),
            Sample("imbalance", finite(figures, "imbalance"), "1"),
        ]
        if "roofline_fraction" in figures:
            samples += [
                Sample("bandwidth_bps", positive(figures, "bandwidth_bps"), "B/s"),
                Sample("roofline_fraction", positive(figures, "roofline_fraction"), "1"),
            ]
        if "permeability_cells2" in figures:
            permeability = positive(figures, "permeability_cells2")
            samples.append(Sample("permeability_cells2", permeability, "1"))
        if "permeability_error" in figures:
            samples.append(Sample("permeability_error", finite(figures, "permeability_error"), "1"))
        return tuple(samples)


def _program(name: str) -> Path:
    try:
        return kernel_path(name)
    except MissingError as error:
        if name != IN_32_BITS:
            raise
        remedy = "see `In 32 bits` in docs/reference/lattice-boltzmann.md"
        raise MissingError(error.message, remedy=remedy) from None


def _grown(parameters: LatticeBoltzmannParameters) -> Box:
    """The box; with `grow`, its width is multiplied by the number of threads (weak scaling)."""
    times = parameters.threads * (parameters.processes or 1) if parameters.grow else 1
    return msgspec.structs.replace(parameters.size, width=parameters.size.width * times)


def _wrong_together(parameters: LatticeBoltzmannParameters) -> list[Wrong]:
    if parameters.bits == 32 and parameters.processes is not None:
        return [Wrong("bits", "there is no 32-bit MPI for `processes`", "use `threads`")]
    if (parameters.geometry == "file") != (parameters.voxels is not None):
        said = 'names the file of `geometry = "file"`, and of no other'
        return [Wrong("voxels", said, "write both, or neither")]
    if parameters.grow and parameters.geometry in ("sc", "bcc", "fcc", "file"):
        remedy = "choose a slit, duct, packing or blocks"
        return [Wrong("grow", "a cube or a file cannot grow", remedy)]
    return []


LATTICE_BOLTZMANN = LatticeBoltzmann()
