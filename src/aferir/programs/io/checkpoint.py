"""Writes and reads a checkpoint as MPI applications do, by POSIX or MPI-IO; after IOR."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import size, told, whole
from aferir.programs.base import Command
from aferir.programs.io.base import MOST_INSTANCES, IoParameters, IoProgram
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import IN_IMAGES, Mpi, check_mpi, find_launcher

PROGRAM = "checkpoint"
BY_MPI_IO = "checkpoint-mpiio"
_PROCESS = 4 * 2**20
_MPI_PROCESS = 64 * 2**20
_WORD = 8
_PAGE = 4096


class CheckpointParameters(IoParameters, frozen=True, kw_only=True):
    """Parameters of one checkpoint, which is written and read again."""

    processes: Annotated[int, whole("processes that write and read", 1, MOST_INSTANCES)] = 2
    segments: Annotated[
        int, whole("segments of the file, each with one block of every process", 1, 2**20)
    ] = 4
    block_bytes: Annotated[int, size("size of the block of a process in a segment", 8, 2**40)] = (
        16 * 2**20
    )
    transfer_bytes: Annotated[
        int, size("size of one call; divides a block, and is a multiple of 8", 8, 2**30)
    ] = 2**20
    files: Annotated[Literal["shared", "each"], told("one file, or one for each process")] = (
        "shared"
    )
    api: Annotated[
        Literal["posix", "mpiio"], told("interface by which files are written and read")
    ] = "posix"
    mpi: Annotated[Mpi, told("MPI library with the MPI-IO to use")] = "openmpi"
    collective: Annotated[bool, told("MPI-IO: all processes call together")] = False
    direct: Annotated[bool, told("POSIX: past the page cache; transfers are multiples of 4096")] = (
        False
    )
    no_sync: Annotated[bool, told("no `fsync` at the end of writing")] = False


class Checkpoint(IoProgram[CheckpointParameters]):
    """A static program that does POSIX I/O itself, and for MPI-IO starts another one by mpirun."""

    def validate(self, parameters: CheckpointParameters) -> list[Wrong]:
        """Check that `transfer_bytes` divides `block_bytes`, and that flags fit the chosen API."""
        return _wrong_together(parameters)

    def memory_bytes(self, parameters: CheckpointParameters) -> int:
        """Memory in bytes: for each process one transfer, and with MPI-IO its MPI."""
        more = _MPI_PROCESS * parameters.processes if parameters.api == "mpiio" else 0
        return super().memory_bytes(parameters) + more

    def check(self) -> list[Finding]:
        """Whether the program is installed; also an MPI and its program, for MPI-IO only."""
        by_mpi = [
            finding
            if finding.status == "ok"
            else Finding(finding.subject, "degraded", finding.message, finding.remedy)
            for finding in check_mpi(PROGRAM, (BY_MPI_IO,))
        ]
        return [*super().check(), *by_mpi]

    def packages(self, parameters: CheckpointParameters) -> tuple[str, ...]:
        """Packages of the MPI in which the program runs; none for POSIX."""
        return (IN_IMAGES[parameters.mpi],) if parameters.api == "mpiio" else ()

    def command(self, parameters: CheckpointParameters) -> Command:
        """The command line. Errors: MissingError if the program or its MPI is missing."""
        command = super().command(parameters)
        if parameters.api != "mpiio":
            return command
        launcher = find_launcher(parameters.mpi)
        program = kernel_path(f"{BY_MPI_IO}-{launcher.mpi}")
        return msgspec.structs.replace(command, files=(program,))


def _wrong_together(parameters: CheckpointParameters) -> list[Wrong]:
    block, transfer = parameters.block_bytes, parameters.transfer_bytes
    by_mpi = parameters.api == "mpiio"
    if block % transfer or transfer % _WORD:
        said = f"{transfer} does not divide {block}, or is no multiple of 8"
        return [Wrong("transfer_bytes", said, "write a size that does, and is")]
    if parameters.direct and transfer % _PAGE:
        said = f"{transfer} is no multiple of 4096, as direct I/O needs it"
        return [Wrong("transfer_bytes", said, "write one that is")]
    if parameters.direct and by_mpi:
        return [Wrong("direct", "MPI-IO has no such option", "leave it out, or take `posix`")]
    if parameters.collective and not by_mpi:
        return [Wrong("collective", "only MPI-IO knows it", 'write `api = "mpiio"`')]
    return []


def _memory(parameters: CheckpointParameters) -> int:
    return parameters.processes * (parameters.transfer_bytes + _PROCESS)


CHECKPOINT = Checkpoint(
    PROGRAM,
    CheckpointParameters,
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
