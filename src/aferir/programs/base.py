"""The Protocol of workloads: build a command, read its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

import msgspec

from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning

PROGRAM_FOLDER = PurePosixPath("/opt/aferir")
"""Where an instance with a file system of its own gets our programs."""


class Command(msgspec.Struct, frozen=True):
    """A program on the host's disk, to be put into the instance, and its arguments."""

    program: Path
    arguments: tuple[str, ...]
    environment: dict[str, str] = {}
    launched: Path | None = None
    """What `program` starts, where it is the launcher of an MPI: it is one of the arguments."""
    files: tuple[Path, ...] = ()
    """Other files on the host's disk that it reads, put beside it; an argument that names one
    is changed to where it is then."""


class Workload(Protocol):
    """One program. Stateless: everything it needs comes with each call."""

    program: str
    parameters: tuple[str, ...]
    """Names of the parameters that it knows; `threads`, where it has it, is what `cpus` bounds."""

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """What is wrong with the parameters, each as `name: what is wrong; remedy`.

        Empty where they are fine; any parameter may be missing or of any type.
        """
        ...

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Least memory that the program needs, so that an impossible cell is refused."""
        ...

    def check(self) -> list[Finding]:
        """What this machine lacks to run it."""
        ...

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """The command for these (valid) parameters."""
        ...

    def parse(self, stdout: str) -> Sequence[Sample | Series | Warning]:
        """Figures from what the program printed, among them `duration_s`, and its own doubts.

        Errors: ProgramError where the output is unreadable, UnverifiedError where the program
        found its own result wrong.
        """
        ...


@runtime_checkable
class IoWorkload(Workload, Protocol):
    """One of the programs whose cost per I/O is studied: having `short_io` marks it as such.

    Such a program reports `VOLUME`, and leaves no file behind when it has ended.
    """

    short_io: tuple[Mapping[str, Parameter], ...]
    """Parameters of its short forms, seconds to a few minutes each on two cores with 24 GB of
    memory and 20 GB of disk."""


VOLUME = "io_volume_bytes"
"""Sample of a program of I/O: bytes of its data that it read and wrote, as it knows them itself.
An operation is 512 of them."""

TIMED = "timed"
"""`timed_user_s` and `timed_system_s`: CPU seconds that a program spent within `duration_s`, but
for making its data set and checking what came out. Costs of I/O are those of it if it is there.
"""
