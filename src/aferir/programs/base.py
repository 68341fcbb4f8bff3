"""The Protocol of programs: their parameters and needs, their command, and parsing of figures.

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
        numbers: Annotated[int, whole("numbers that are sorted", 1, 10**7)] = 100_000
        down: Annotated[bool, told("sort from the largest to the smallest")] = False

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
"""Folder for the programs in an instance with a file system of its own."""

_Values = TypeVar("_Values", bound=msgspec.Struct)


class Command(msgspec.Struct, frozen=True):
    """A program on the host's disk that is copied into the instance, and its arguments."""

    program: Path
    arguments: tuple[str, ...]
    environment: dict[str, str] = {}
    launched: Path | None = None
    """The program that `program` starts if `program` is the launcher of an MPI; it is also in
    `arguments`.
    """
    files: tuple[Path, ...] = ()
    """Other files on the host's disk that the program reads. They are put into the same folder;
    arguments that name such a file are changed to its path there.
    """
    there: Command | None = None
    """Command to run instead if the environment is on several hosts, or on another host while
    `program` is this installation of aferir; None: there is none. It learns the hosts from the
    environment variables of `model.variables`.
    """
    counts_start: bool = False
    """Whether `duration_s` includes the time to enter the environment."""
    patience_s: float | None = None
    """Longest `duration_s` that a user accepts; `blocked_percent` is the share of runs that take
    longer. None: no limit."""


@runtime_checkable
class Program(Protocol[_Values]):
    """One program. Stateless: everything it needs comes with each call.

    Subclasses inherit the defaults below; they must define `name`, `parameters`, `memory_bytes`,
    `check`, `command` and `parse`.
    """

    name: str
    """Name of the program in experiment files."""
    parameters: type[_Values]
    """A frozen struct whose fields declare the parameters (`aferir.model.parameters`). `threads`
    and `processes` are limited by an environment's CPUs; `mpi` selects the MPI."""
    kinds: tuple[EnvironmentKind, ...] = ()
    """Kinds of environment in which the program can run; empty: every kind that can run any
    program.
    """
    of_packages: bool = False
    """Whether the program comes from Debian packages, which an instance's image must contain."""
    short_io: tuple[Mapping[str, Parameter], ...] = ()
    """Short forms of the program for studies of cost per I/O, each as its parameters. They take
    seconds to a few minutes on two cores with 24 GB of memory and 20 GB of disk. A program that
    has any reports `VOLUME`, and leaves no file behind when it ends."""

    fills: bool = False
    """Whether `{name}` in its texts is replaced by the level of the factor `name`."""

    def validate(self, parameters: _Values) -> Sequence[Wrong]:
        """Report conflicts between parameters that are valid by themselves."""
        return ()

    def kinds_of(self, parameters: _Values) -> tuple[EnvironmentKind, ...]:
        """Kinds of environment among `kinds` in which the program can run with `parameters`."""
        return self.kinds

    def over_hosts(self, parameters: _Values) -> Sequence[Wrong]:
        """Report parameters with which the program cannot run over several hosts."""
        return ()

    def packages(self, parameters: _Values) -> tuple[str, ...]:
        """Debian packages that an instance's image needs; natively, the host must have them."""
        return ()

    def memory_bytes(self, parameters: _Values) -> int:
        """Smallest memory in bytes with which the program can run; cells with less are refused."""
        ...

    def check(self) -> list[Finding]:
        """Report what this machine lacks to run the program."""
        ...

    def command(self, parameters: _Values) -> Command:
        """Command that runs the program with `parameters`, which are valid."""
        ...

    def parse(self, stdout: str) -> Sequence[Sample | Series | Warning]:
        """Figures from the program's output, including `duration_s`, and its own warnings.

        Errors: ProgramError if the output cannot be parsed, UnverifiedError if the program found
        its own result wrong, MissingError if its output says that the environment lacks a program.
        """
        ...


def declared_by(program: Program[_Values]) -> tuple[Field, ...]:
    """Declarations of all parameters of the program."""
    return fields(program.parameters)


def judge(
    program: Program[_Values], table: Mapping[str, object]
) -> tuple[_Values | None, tuple[Wrong, ...]]:
    """The parameters that a table describes, or all errors in the table."""
    values, wrong = convert(program.parameters, table)
    if values is not None and (together := tuple(program.validate(values))):
        return None, together
    return values, wrong


def read_parameters(program: Program[_Values], table: Mapping[str, object]) -> _Values:
    """The parameters that a table describes. Errors: UsageError with all errors in the table."""
    values, wrong = judge(program, table)
    if values is None:
        lines = (f"{one.key}: {one.message}; {one.remedy}" for one in wrong)
        raise UsageError("\n  ".join(lines), remedy=f"see what `{program.name}` takes")
    return values


def image_packages(used: Iterable[tuple[Program[Any], Mapping[str, object]]]) -> tuple[str, ...]:
    """Debian packages that one image needs for all programs in `used`. Errors: UsageError."""
    needed = (program.packages(read_parameters(program, table)) for program, table in used)
    return tuple(sorted({name for names in needed for name in names}))


ASIDE = "aside_s"
"""Name of the sample for the time in s outside the measured part, e.g. for preparing files or
checking results.
"""

VOLUME = "io_volume_bytes"
"""Name of the sample for the bytes of its data that an I/O program says it read and wrote. Costs
per I/O count one operation for every 512 bytes.
"""

TIMED = "timed"
"""Prefix of `timed_user_s` and `timed_system_s`: CPU seconds within `duration_s`, without those for
creating the data set and checking the result. If present, costs of I/O are computed from them."""
