"""Parameters of `program = "command"`. Lists may be written as text, quoted as for a shell."""

from __future__ import annotations

import re
import shlex
from typing import Annotated

import msgspec

from aferir.model.parameters import duration, size, text, told
from aferir.programs.command.figures import read_spec

AUTO = "auto"
NONE = "none"
_LONGEST = 2**16
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_READY = re.compile(r"port \d{1,5}|(?:line|command) .+", re.DOTALL)
_CODES = re.compile(r"\d{1,3}(?: \d{1,3})*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _split(written: str) -> str:
    try:
        shlex.split(written)
    except ValueError as error:
        raise ValueError(f"is not quoted as for a shell: {error}") from None
    return written


def _figures(written: str) -> str:
    for one in shlex.split(_split(written)):
        read_spec(one)
    return written


def _variables(written: str) -> str:
    for one in shlex.split(_split(written)):
        if not _VARIABLE.fullmatch(one):
            raise ValueError(f"has {one!r}, which is not NAME=VALUE")
    return written


def _packages(written: str) -> str:
    for one in shlex.split(_split(written)):
        if not _PACKAGE.fullmatch(one):
            raise ValueError(f"has {one!r}, which is no name of a Debian package")
    return written


def _ready(written: str) -> str:
    if not _READY.fullmatch(written):
        raise ValueError("is not `port N`, `line TEXT` or `command LINE`")
    return written


def _codes(written: str) -> str:
    if not _CODES.fullmatch(written):
        raise ValueError("is no list of exit codes")
    return written


def _sha256(written: str) -> str:
    if not _SHA256.fullmatch(written):
        raise ValueError("is not 64 hexadecimal digits")
    return written


def _line(help: str, example: str) -> msgspec.Meta:  # noqa: A002 - what argparse calls it
    return text(help, example, longest=_LONGEST, lines=True)


Words = Annotated[
    str,
    text(
        "program and its arguments, started without a shell",
        "sort -n numbers.txt",
        parse=_split,
        longest=_LONGEST,
        lines=True,
        quoted=True,
    ),
]
_Files = Annotated[
    str,
    text(
        "files and folders of the host that are in the working folder each time, as they were",
        "numbers.txt data",
        parse=_split,
        longest=_LONGEST,
        quoted=True,
    ),
]
_Packages = Annotated[
    str,
    text(
        "Debian packages that images need for it; `auto`: those that the program is of on the "
        "host; `none`",
        "jq libjq1",
        parse=_packages,
        longest=_LONGEST,
        quoted=True,
    ),
]
_Variables = Annotated[
    str,
    text("variables of its environment", "LANG=C", parse=_variables, longest=_LONGEST, quoted=True),
]
_Figures = Annotated[
    str,
    text(
        "figures that it prints or writes",
        "rate_rps=regex:([0-9.]+)",
        parse=_figures,
        longest=_LONGEST,
        lines=True,
        quoted=True,
    ),
]


class CommandParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of any command line.

    `{name}` in a text is replaced by the level of the factor `name`.
    """

    command: Words = ""
    script: Annotated[str, _line("a script for sh in place of a command", "make -j2 | tail")] = ""
    files: _Files = ""
    directory: Annotated[
        str, text("folder in the environment to run in, with what is there already", "/srv")
    ] = ""
    packages: _Packages = AUTO
    variables: _Variables = ""
    input: Annotated[
        str,
        text(
            "file that is its standard input, one of `files` or of the environment", "numbers.txt"
        ),
    ] = ""
    input_text: Annotated[str, _line("text that is its standard input", "select 1;")] = ""
    output: Annotated[str, text("file that its standard output goes into", "sorted.txt")] = ""
    prepare: Annotated[str, _line("for sh, before each repetition, not timed", "make clean")] = ""
    conclude: Annotated[str, _line("for sh, after each repetition, not timed", "rm -r out")] = ""
    service: Annotated[str, _line("for sh, runs beside it until it has ended", "redis-server")] = ""
    ready: Annotated[
        str,
        text(
            "when the service is ready: port N, line TEXT or command LINE",
            "port 6379",
            parse=_ready,
        ),
    ] = ""
    ready_limit_s: Annotated[
        float, duration("how long the service may take to be ready", 0.01, 86400.0)
    ] = 60.0
    figures: _Figures = ""
    exit_codes: Annotated[
        str, text("codes of a run that went well", "0 1", parse=_codes, quoted=True)
    ] = "0"
    expect: Annotated[str, _line("its whole output, but for white space at the end", "42")] = ""
    expect_sha256: Annotated[str, text("SHA-256 of its output", "0" * 64, parse=_sha256)] = ""
    verify: Annotated[
        str, _line("for sh, gets the output and fails where the result is wrong", "grep -q passed")
    ] = ""
    startup: Annotated[
        bool, told("count the way into the environment too, from the request to the end")
    ] = False
    patience: (
        Annotated[
            float,
            duration(
                "how long its user waits: `blocked_percent` is the share of runs that take longer",
                *(0.001, 86400.0),
                unset="as long as it takes",
            ),
        ]
        | None
    ) = None
    memory_bytes: Annotated[int, size("memory that it needs at least", 2**20, 2**50)] = 2**26
