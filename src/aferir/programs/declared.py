"""Parameters that several programs share, each declared once."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from aferir.model.parameters import text, told, whole
from aferir.programs.mpi import MOST_PROCESSES, Mpi

MOST_THREADS = 4096

Kernel = Literal["ep", "cg", "is", "mg", "ft", "bt", "sp", "lu"]
ProblemClass = Literal["S", "W", "A", "B", "C", "D"]

Threads = Annotated[int, whole("threads of the program", 1, MOST_THREADS)]
Processes = Annotated[int, whole("processes of the program", 1, MOST_PROCESSES)]
WhichMpi = Annotated[Mpi, told("which MPI starts the processes", unset="that of `mpirun`")]
Isa = Annotated[
    Literal["v2", "v3", "v4", "base"],
    told(
        "instruction-set level of x86-64; `base` is what other processors have",
        unset="the best of the processor",
    ),
]


def absolute(path: str) -> str:
    """Check that a path is absolute, and return it. Errors: ValueError with the reason."""
    if not PurePosixPath(path).is_absolute():
        raise ValueError("is not an absolute path")
    return path


FOLDER = "/var/tmp"  # noqa: S108 - a folder of the run's own is made below
Folder = Annotated[
    str,
    text("where a folder is made for the files", FOLDER, parse=absolute, pattern="^/"),
]
