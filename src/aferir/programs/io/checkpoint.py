"""The checkpoint of an MPI application, after IOR: by processes and POSIX, or by MPI-IO."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.programs.base import Command
from aferir.programs.io.base import MOST_INSTANCES, IoProgram, Whole
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import MPIS, check_mpi, find_launcher, mpi_of

PROGRAM = "checkpoint"
BY_MPI_IO = "checkpoint-mpiio"
_PACKAGES = {"openmpi": "openmpi-bin", "mpich": "mpich"}
"""Debian's, that run a program; what compiles one is not needed."""
_PROCESS = 4 * 2**20
_MPI_PROCESS = 64 * 2**20
_WORD = 8
_PAGE = 4096


class Checkpoint(IoProgram):
    """The static program does POSIX itself, and starts an mpirun of another for MPI-IO."""

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """Everything has a default; `transfer_bytes` has to divide `block_bytes`."""
        wrong = super().validate(parameters)
        return wrong or self._wrong_together(parameters)

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """A transfer of each process; an MPI in each takes more."""
        processes = parameters.get("processes", 2)
        more = _MPI_PROCESS * processes if _by_mpi(parameters) and type(processes) is int else 0
        return super().memory_bytes(parameters) + more

    def check(self) -> list[Finding]:
        """Whether the program is installed, and those for an MPI: POSIX does without."""
        by_mpi = [
            finding
            if finding.status == "ok"
            else Finding(finding.subject, "degraded", finding.message, finding.remedy)
            for finding in check_mpi(PROGRAM, (BY_MPI_IO,))
        ]
        return [*super().check(), *by_mpi]

    def packages_of(self, parameters: Mapping[str, Parameter]) -> tuple[str, ...]:
        """The MPI in which it runs; POSIX does without."""
        return (_PACKAGES[mpi_of(parameters) or MPIS[0]],) if _by_mpi(parameters) else ()

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built, or its MPI is missing."""
        command = super().command(parameters)
        if not _by_mpi(parameters):
            return command
        launcher = find_launcher(mpi_of(parameters) or MPIS[0])
        program = kernel_path(f"{BY_MPI_IO}-{launcher.mpi}")
        return msgspec.structs.replace(command, files=(program,))

    def _wrong_together(self, parameters: Mapping[str, Parameter]) -> list[str]:
        sizes = [parameters.get(name, self.default(name)) for name in ("block_bytes", _TRANSFER)]
        block, transfer = (size if isinstance(size, int) else 1 for size in sizes)
        if block % transfer or transfer % _WORD:
            return [f"{_TRANSFER}: {transfer} has to divide {block}, and be a multiple of 8"]
        if parameters.get("direct") and transfer % _PAGE:
            return [f"{_TRANSFER}: {transfer} is no multiple of 4096, as direct I/O needs it"]
        if parameters.get("direct") and _by_mpi(parameters):
            return ["direct: MPI-IO has no such option; leave it out, or take `posix`"]
        if parameters.get("collective") and not _by_mpi(parameters):
            return ['collective: only MPI-IO knows it; write `api = "mpiio"`']
        return []


_TRANSFER = "transfer_bytes"


def _by_mpi(parameters: Mapping[str, Parameter]) -> bool:
    return parameters.get("api") == "mpiio"


def _memory(values: Mapping[str, int]) -> int:
    return values["processes"] * (values[_TRANSFER] + _PROCESS)


CHECKPOINT = Checkpoint(
    PROGRAM,
    whole={
        "processes": Whole(2, 1, MOST_INSTANCES),
        "segments": Whole(4, 1, 2**20),
        "block_bytes": Whole(16 * 2**20, 8, 2**40),
        _TRANSFER: Whole(2**20, 8, 2**30),
        "seed": Whole(1, 0, 2**62),
    },
    words={"files": ("shared", "each"), "api": ("posix", "mpiio"), "mpi": MPIS},
    flags=("collective", "direct", "no_sync", "cold"),
    memory=_memory,
    short=({"processes": 2}, {"processes": 2, "direct": True, "files": "each"}),
    figures={
        "write_duration_s": "s",
        "read_duration_s": "s",
        "write_bps": "B/s",
        "read_bps": "B/s",
        "syncs": "1",
    },
)
