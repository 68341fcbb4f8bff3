"""Flow through a porous medium, by lattice Boltzmann: docs/reference/lattice-boltzmann.md.

By threads alone, a static program that runs everywhere; with `processes`, by MPI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from aferir.errors import MissingError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample
from aferir.programs.base import Command
from aferir.programs.kernels import (
    MOST_THREADS,
    check_kernels,
    finite,
    kernel_path,
    positive,
    read_figures,
    threads_of,
    wrong_integer,
)
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch, mpi_of, wrong_mpi
from aferir.programs.npb.threads import ISAS, one_of

PROGRAM = "lattice-boltzmann"
BY_MESSAGES = "lattice-boltzmann-mpi"
IN_32_BITS = "lattice-boltzmann-32"
GEOMETRIES = ("slit", "duct", "sc", "bcc", "fcc", "packing", "blocks", "file")
ENDS = ("periodic", "pressure")
_SIZE = "64x64x64"
_MOST_EDGE = 2**14
_PROCESS = 64 * 2**20
_CELL = 19 * 8 + 24
"""Populations, their places in runs of a row or so, and the box while the list is made."""
_WHOLE: Mapping[str, tuple[int, int]] = {
    "diameter": (2, _MOST_EDGE),
    "edge": (2, _MOST_EDGE),
    "number": (0, 2**62),
    "steps": (0, 100_000_000),
    "threads": (1, MOST_THREADS),
    "processes": (1, MOST_PROCESSES),
    "block_steps": (0, 64),
    "bits": (32, 64),
}
_REAL: Mapping[str, tuple[float, float]] = {"fraction": (0.0, 0.99), "viscosity": (0.001, 10.0)}
_PASSED_ON = (
    *("geometry", "fraction", "diameter", "number", "edge", "voxels", "ends", "viscosity"),
    *("steps", "threads", "isa", "block_steps"),
)
_FLAGS = ("grow", "roofline")


class LatticeBoltzmannWorkload:
    """See docs/reference/experiment-file.md for the parameters."""

    program = PROGRAM
    parameters: tuple[str, ...] = ("size", "processes", "mpi", "bits", *_PASSED_ON, *_FLAGS)

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`geometry` is needed."""
        wrong = one_of(parameters, "geometry", GEOMETRIES) + wrong_mpi(parameters)
        wrong += one_of({"ends": ENDS[0], **parameters}, "ends", ENDS)
        if "isa" in parameters:
            wrong += one_of(parameters, "isa", ISAS)
        for name, (least, most) in _WHOLE.items():
            wrong += wrong_integer(parameters, name, least, most)
        for name, bounds in _REAL.items():
            wrong += _wrong_real(parameters, name, *bounds)
        if _size(parameters) is None:
            wrong.append(f"size: {parameters['size']!r} is not possible; write e.g. {_SIZE!r}")
        for name in _FLAGS:
            if not isinstance(parameters.get(name, False), bool):
                wrong.append(f"{name}: {parameters[name]!r} is not possible; write true or false")
        return wrong + _wrong_together(parameters)

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Bytes of all cells as if each were fluid, and of the processes; a file's are unknown."""
        size = _size(parameters) or (0, 0, 0)
        return _processes(parameters) * _PROCESS + math.prod(_grown(parameters, size)) * _CELL

    def check(self) -> list[Finding]:
        """Whether the program is installed, and those for an MPI."""
        # Threads do without an MPI, so one that is missing takes away no more than processes.
        by_messages = [
            finding
            if finding.status == "ok"
            else Finding(finding.subject, "degraded", finding.message, finding.remedy)
            for finding in check_mpi(PROGRAM, (BY_MESSAGES,))
        ]
        return [*check_kernels(PROGRAM, (PROGRAM,)), *by_messages]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built, or its MPI is missing."""
        given = {"threads": 1, **parameters}
        arguments: list[str] = []
        for name in _PASSED_ON:
            if name in given:
                arguments += [f"--{name.replace('_', '-')}", str(given[name])]
        if parameters.get("geometry") != "file":
            size = _grown(parameters, _size(parameters) or (0, 0, 0))
            arguments += ["--size", "x".join(map(str, size))]
        if parameters.get("roofline"):
            arguments.append("--roofline")
        if "processes" not in parameters:
            name = IN_32_BITS if parameters.get("bits") == 32 else PROGRAM
            return Command(_program(name), tuple(arguments))
        return launch(
            BY_MESSAGES, arguments, processes=_processes(parameters), mpi=mpi_of(parameters)
        )

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` of all steps, and speeds; what is known of the flow, where it is steady.

        Errors: as in `Workload.parse`.
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


def _size(parameters: Mapping[str, Parameter]) -> tuple[int, int, int] | None:
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})x(\d{1,5})", str(parameters.get("size", _SIZE)))
    if found is None:
        return None
    x, y, z = map(int, found.groups())
    return (x, y, z) if min(x, y, z) >= 1 and max(x, y, z) <= _MOST_EDGE else None


def _grown(parameters: Mapping[str, Parameter], size: tuple[int, int, int]) -> tuple[int, int, int]:
    """With `grow` the box is as many times as wide as there are threads: weak scaling."""
    times = threads_of(parameters) * _processes(parameters) if parameters.get("grow") else 1
    return size[0], size[1], size[2] * times


def _processes(parameters: Mapping[str, Parameter]) -> int:
    processes = parameters.get("processes", 1)
    return processes if isinstance(processes, int) else 1


def _wrong_real(
    parameters: Mapping[str, Parameter], name: str, least: float, most: float
) -> list[str]:
    value = parameters.get(name, most)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        return [f"{name}: {value!r} is not possible; write a number from {least:g} to {most:g}"]
    return []


def _wrong_together(parameters: Mapping[str, Parameter]) -> list[str]:
    if parameters.get("bits", 64) not in (32, 64):
        return [f"bits: {parameters['bits']} is not possible; write 32 or 64"]
    if parameters.get("bits") == 32 and "processes" in parameters:
        return ["bits: there is no 32-bit MPI for `processes`; use `threads`"]
    voxels = parameters.get("voxels")
    of_file = parameters.get("geometry") == "file"
    if of_file != (voxels is not None):
        return ['voxels: names the file of `geometry = "file"`, and of no other']
    if voxels is not None and not PurePosixPath(str(voxels)).is_absolute():
        return [f"voxels: {voxels!r} is not an absolute path; write it from / on"]
    if parameters.get("grow") and parameters.get("geometry") in ("sc", "bcc", "fcc", "file"):
        return ["grow: a cube or a file cannot grow; choose a slit, duct, packing or blocks"]
    return []


LATTICE_BOLTZMANN = LatticeBoltzmannWorkload()
