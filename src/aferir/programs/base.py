"""The Protocol of programs: what one takes and needs, its command, and how its figures are read.

A program is one value in one module. This is a whole one, which measures how Python sorts:

    import sys
    from pathlib import Path
    from typing import Annotated

    import msgspec

    from aferir.model.finding import Finding
    from aferir.model.parameters import told, whole
    from aferir.model.record import Sample
    from aferir.programs.base import Command, Program
    from aferir.programs.kernels import positive, read_figures

    CODE = '''
    import json, random, sys, time
    numbers = random.Random(1).sample(range(10**9), int(sys.argv[1]))
    begin = time.perf_counter()
    found = sorted(numbers, reverse=sys.argv[2] == "down")
    figures = {"duration_s": time.perf_counter() - begin, "verified": set(found) == set(numbers)}
    print(json.dumps({"program": "sorting", **figures}))
    '''

    class SortingParameters(msgspec.Struct, frozen=True, kw_only=True):
        numbers: Annotated[int, whole("that are sorted", 1, 10**7)] = 100_000
        down: Annotated[bool, told("from the largest to the smallest")] = False

    class Sorting(Program[SortingParameters]):
        name = "sorting"
        parameters = SortingParameters
        kinds = ("native",)  # where this Python is

        def memory_bytes(self, parameters: SortingParameters) -> int:
            return 2**25 + 128 * parameters.numbers

        def check(self) -> list[Finding]:
            return [Finding(self.name, "ok", "Python is here")]

        def command(self, parameters: SortingParameters) -> Command:
            order = "down" if parameters.down else "up"
            return Command(Path(sys.executable), ("-c", CODE, str(parameters.numbers), order))

        def parse(self, stdout: str) -> tuple[Sample, ...]:
            figures = read_figures(stdout, self.name)
            return (Sample("duration_s", positive(figures, "duration_s"), "s"),)

    SORTING = Sorting()

Its parameters are checked in experiment files, are factors, and stand in `aferir schema` by their
declarations. In aferir it is registered by one name in `aferir.registry`, in another package by an
entry point of `aferir.programs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from aferir.errors import UsageError
from aferir.model import plan
from aferir.model.checking import Wrong, convert
from aferir.model.finding import Finding
from aferir.model.parameters import Field, fields
from aferir.model.plan import EnvironmentKind, Parameter
from aferir.model.record import Sample, Series, Warning

PROGRAM_FOLDER = plan.PROGRAM_FOLDER
"""Where an instance with a file system of its own gets our programs."""

_Values = TypeVar("_Values", bound=msgspec.Struct)


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
    counts_start: bool = False
    """Whether the way into the environment is part of `duration_s`."""


@runtime_checkable
class Program(Protocol[_Values]):
    """One program. Stateless: everything it needs comes with each call.

    A class that names this one as its base has the defaults below; it has to say its `name`,
    `parameters`, `memory_bytes`, `check`, `command` and `parse`.
    """

    name: str
    """What experiment files call it."""
    parameters: type[_Values]
    """A frozen struct whose fields declare what it takes (`aferir.model.parameters`). One that is
    called `threads` or `processes` is what the CPUs of an environment bound; `mpi` says which."""
    kinds: tuple[EnvironmentKind, ...] = ()
    """Kinds of environment in which it can run; none: wherever any program can."""
    of_packages: bool = False
    """Whether it runs on the host, or where an image gets its Debian packages, and nowhere else."""
    short_io: tuple[Mapping[str, Parameter], ...] = ()
    """Parameters of its short forms, seconds to a few minutes each on two cores with 24 GB of
    memory and 20 GB of disk, where its cost per I/O is studied. Such a program reports `VOLUME`,
    and leaves no file behind when it has ended."""

    fills: bool = False
    """Whether `{name}` in its texts stands for the level of the factor `name`."""

    def validate(self, parameters: _Values) -> Sequence[Wrong]:
        """What is wrong between parameters, each of which is right by itself."""
        return ()

    def kinds_of(self, parameters: _Values) -> tuple[EnvironmentKind, ...]:
        """Those of `kinds` in which it can run with these parameters."""
        return self.kinds

    def packages(self, parameters: _Values) -> tuple[str, ...]:
        """Debian packages that the image of an instance needs; natively the host has to have it."""
        return ()

    def memory_bytes(self, parameters: _Values) -> int:
        """Least memory that the program needs, so that an impossible cell is refused."""
        ...

    def check(self) -> list[Finding]:
        """What this machine lacks to run it."""
        ...

    def command(self, parameters: _Values) -> Command:
        """The command for these (valid) parameters."""
        ...

    def parse(self, stdout: str) -> Sequence[Sample | Series | Warning]:
        """Figures from what the program printed, among them `duration_s`, and its own doubts.

        Errors: ProgramError where the output is unreadable, UnverifiedError where the program
        found its own result wrong.
        """
        ...


def declared_by(program: Program[_Values]) -> tuple[Field, ...]:
    """Every parameter of the program."""
    return fields(program.parameters)


def judge(
    program: Program[_Values], table: Mapping[str, object]
) -> tuple[_Values | None, tuple[Wrong, ...]]:
    """The parameters that a table describes, or everything that is wrong with them."""
    values, wrong = convert(program.parameters, table)
    if values is not None and (together := tuple(program.validate(values))):
        return None, together
    return values, wrong


def read_parameters(program: Program[_Values], table: Mapping[str, object]) -> _Values:
    """The parameters that a table describes. Errors: UsageError with all that is wrong."""
    values, wrong = judge(program, table)
    if values is None:
        lines = (f"{one.key}: {one.message}; {one.remedy}" for one in wrong)
        raise UsageError("\n  ".join(lines), remedy=f"see what `{program.name}` takes")
    return values


def image_packages(used: Iterable[tuple[Program[Any], Mapping[str, object]]]) -> tuple[str, ...]:
    """Debian packages that one image needs for all of these programs. Errors: UsageError."""
    needed = (program.packages(read_parameters(program, table)) for program, table in used)
    return tuple(sorted({name for names in needed for name in names}))


ASIDE = "aside_s"
"""Sample: seconds that a program took around what it measured, for its files and for checks."""

VOLUME = "io_volume_bytes"
"""Sample of a program of I/O: bytes of its data that it read and wrote, as it knows them itself.
An operation is 512 of them."""

TIMED = "timed"
"""`timed_user_s` and `timed_system_s`: CPU seconds that a program spent within `duration_s`, but
for making its data set and checking what came out. Costs of I/O are those of it if it is there.
"""
