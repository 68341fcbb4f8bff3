"""Any command line: packed, timed inside the environment, its figures parsed and verified."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.errors import UsageError
from aferir.image import recipe
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.plan import SCRATCH
from aferir.model.record import Sample, Warning
from aferir.programs.base import Command, Program
from aferir.programs.command import lookup, report
from aferir.programs.command.bundle import archive, placed
from aferir.programs.command.figures import read_spec
from aferir.programs.command.parameters import AUTO, NONE, CommandParameters
from aferir.programs.kernels import check_kernels, kernel_path

LAUNCHER = "launch"
ECHO = "AFERIR_ECHO"
"""Environment variable whose contents the launcher returns with its report."""
_FOLDER = "/var/tmp"  # noqa: S108 - a folder of the run's own is made below
_OPTIONS = ("directory", "output", "prepare", "conclude", "verify", "service", "ready")


class AnyCommand(Program[CommandParameters]):
    """A program that is not part of aferir, with its files and settings."""

    name = report.PROGRAM
    parameters = CommandParameters
    fills = True

    def validate(self, parameters: CommandParameters) -> Sequence[Wrong]:
        """Check parameters that exclude or require each other."""
        wrong = []
        if bool(parameters.command) == bool(parameters.script):
            wrong.append(Wrong("command", "is one of two", "write either `command` or `script`"))
        if parameters.input and parameters.input_text:
            wrong.append(Wrong("input_text", "comes beside `input`", "keep one of them"))
        if parameters.ready and not parameters.service:
            wrong.append(Wrong("ready", "has no `service`", "name the service that is awaited"))
        looked = [key for key in ("expect", "expect_sha256") if getattr(parameters, key)]
        if parameters.output and looked:
            wrong.append(
                Wrong(looked[0], "looks at what goes into `output`", "use `verify` to look there")
            )
        return wrong

    def packages(self, parameters: CommandParameters) -> tuple[str, ...]:
        """The named packages, or those of the program on this host that an image lacks."""
        if parameters.packages == NONE:
            return ()
        if parameters.packages != AUTO:
            return tuple(shlex.split(parameters.packages))
        return _lacking(_program(parameters))

    def memory_bytes(self, parameters: CommandParameters) -> int:
        """Memory in bytes that the user states."""
        return parameters.memory_bytes

    def check(self) -> list[Finding]:
        """Whether the launcher is installed; the program is looked up in each environment."""
        return check_kernels(report.PROGRAM, (LAUNCHER,))

    def command(self, parameters: CommandParameters) -> Command:
        """The command line. Errors: MissingError if there is no launcher, UsageError if no file."""
        program = _program(parameters)
        files, line = _taken_along(parameters, program)
        arguments = []
        bundle = archive(files) if files else None
        if bundle is not None:
            arguments += ["--work", str(bundle)]
        if parameters.input:
            arguments += ["--input", placed(files).get(parameters.input, parameters.input)]
        for option in _OPTIONS:
            if value := getattr(parameters, option):
                arguments += [f"--{option}", value]
        if parameters.input_text:
            arguments += ["--input-text", parameters.input_text]
        if parameters.service:
            arguments += ["--ready-limit", f"{parameters.ready_limit_s:g}"]
        expected = _expected(parameters, program)
        for name in dict.fromkeys(one.file for one in expected.figures if one.file):
            arguments += ["--report", name]
        if parameters.expect_sha256:
            arguments.append("--hash")
        arguments += ["--", *line]
        echo = msgspec.json.encode(expected).decode()
        variables = dict(one.split("=", 1) for one in shlex.split(parameters.variables))
        return Command(
            kernel_path(LAUNCHER),
            tuple(arguments),
            {"PATH": lookup.SYSTEM_PATH, **variables, SCRATCH: _FOLDER, ECHO: echo},
            files=() if bundle is None else (bundle,),
            counts_start=parameters.startup,
            patience_s=parameters.patience,
        )

    def parse(self, stdout: str) -> tuple[Sample | Warning, ...]:
        """`duration_s` of the program's execution, its resource usage, and its figures."""
        return report.read(stdout)


def _program(parameters: CommandParameters) -> str:
    """First word of the command; for a script, its shell."""
    return "sh" if parameters.script else shlex.split(parameters.command)[0]


def _taken_along(parameters: CommandParameters, program: str) -> tuple[list[str], list[str]]:
    """Files for the working folder, and the command with their paths there."""
    files = shlex.split(parameters.files)
    if parameters.script:
        return files, ["sh", "-c", parameters.script]
    where = placed(files)
    own = "" if parameters.directory else _own(program)
    if own and not _covered(own, files):
        files.append(own)
        where = placed(files)
    words = [where.get(word, word) for word in shlex.split(parameters.command)]
    if own:
        first = where.get(own, words[0])
        words[0] = first if "/" in first else f"./{first}"
    return files, words


def _own(program: str) -> str:
    """Path of a program to be copied in; "" if a package has it, so that it is looked up inside.

    Errors: UsageError if it is a folder.
    """
    if "/" in program and Path(program).is_dir():
        raise UsageError(
            f"`{program}` is a folder", remedy="name a program, as in ./folder/program"
        )
    if "/" in program:
        return program if Path(program).exists() and not lookup.made_of(program).packaged else ""
    made = lookup.made_of(program)
    return (
        ""
        if made.packaged or made.path.startswith(tuple(lookup.SYSTEM_PATH.split(":")))
        else made.path
    )


def _covered(path: str, files: Sequence[str]) -> bool:
    """Whether a path is among `files`, or below one of the folders among them."""
    whole = Path(path).resolve()
    return any(whole.is_relative_to(Path(name).resolve()) for name in files)


def _expected(parameters: CommandParameters, program: str) -> report.Expected:
    return report.Expected(
        figures=tuple(map(read_spec, shlex.split(parameters.figures))),
        exit_codes=tuple(map(int, parameters.exit_codes.split())),
        output=parameters.expect or None,
        sha256=parameters.expect_sha256,
        verified=bool(parameters.verify),
        program=program,
        owners=lookup.made_of(program).owners,
    )


@functools.cache
def _lacking(program: str) -> tuple[str, ...]:
    return lookup.missing_packages(lookup.made_of(program), recipe.PACKAGES)


COMMAND = AnyCommand()
