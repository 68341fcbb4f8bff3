"""Options shared by the verbs that run a command of the user's choice."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

from aferir.cli.list_ import add_runs
from aferir.errors import UsageError


def add_program(parser: argparse.ArgumentParser) -> None:
    """Declare options for the command, its figures, and the check of its output."""
    add = parser.add_argument
    add("--script", metavar="TEXT", help="shell script instead of the command")
    add(
        "--files",
        action="append",
        default=[],
        metavar="PATH",
        help="file or folder that is copied into the environment, where its path below this folder "
        "is kept; several times",
    )
    add("--packages", metavar="NAMES", help="Debian packages for images (default: auto; or none)")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="variable for the command")
    add(
        "--input",
        metavar="FILE",
        help="file for its standard input; one with a relative path is copied as --files are",
    )
    add("--prepare", metavar="LINE", help="shell command before each repetition, not timed")
    add("--conclude", metavar="LINE", help="shell command after each repetition, not timed")
    add("--service", metavar="LINE", help="shell command that runs concurrently with the program")
    add(
        "--ready",
        metavar="WHEN",
        help="sign that the service is ready: 'port N', 'line TEXT', 'command LINE'",
    )
    add(
        "--figure",
        action="append",
        default=[],
        metavar="SPEC",
        help="NAME=regex:EXPRESSION, =json:PATH, =csv:COLUMN, =last; NAME(higher): more is better",
    )
    add(
        "--verify",
        metavar="LINE",
        help="shell command that reads the output, and fails if it is wrong",
    )
    add("--expect", metavar="TEXT", help="whole output that the command must print")
    add("--exit-codes", metavar="CODES", help="exit codes that count as success (default: 0)")
    add(
        "--startup",
        action="store_true",
        help="also time the way into the environment, e.g. `podman exec`",
    )
    add(
        "--patience",
        metavar="TIME",
        help="longest wait of a user; the share of runs that take longer is reported",
    )
    add("command", nargs="*", help=argparse.SUPPRESS)


def add_rounds(parser: argparse.ArgumentParser, *, rounds: str, budget: str, warmup: int) -> None:
    """Declare the options for rounds, time limits and results, with the given defaults."""
    add = parser.add_argument
    add("-n", dest="rounds", default=rounds, metavar="MIN..MAX", help=f"rounds (default: {rounds})")
    add(
        "--time",
        default=budget,
        metavar="LIMIT",
        help=f"time limit of all rounds together (default: {budget})",
    )
    add(
        "--limit",
        default="10min",
        metavar="LIMIT",
        help="time limit of one repetition (default: 10min)",
    )
    add(
        "--warmup",
        type=int,
        default=warmup,
        metavar="N",
        help=f"rounds that do not count (default: {warmup})",
    )
    add(
        "--save", type=Path, metavar="FILE", help="also write the experiment file, for `aferir run`"
    )
    add("--new", action="store_true", help="start a new run even if one is unfinished")
    add("--json", action="store_true", help="print the evaluation as JSON")
    add_runs(parser)
    parser.set_defaults(keeps_results=True)


class Budget:
    """Time limit in s for all rounds together, and whether another round fits into it."""

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._began_s: float | None = None
        self._rounds = 0

    def spent(self) -> bool:
        """True if another round as long as the mean so far would exceed the time limit.

        It must be called once at the beginning of each round, which it counts.
        """
        now_s = time.monotonic()
        if self._began_s is None:
            self._began_s = now_s
            return False
        self._rounds += 1
        return (now_s - self._began_s) * (self._rounds + 1) / self._rounds > self._budget_s


def seconds(option: str, text: str) -> float:
    """Parse the value of an option as a duration; returns seconds. Errors: UsageError."""
    from aferir.model.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", remedy="e.g. 30s or 5min") from None


def share(option: str, text: str) -> float:
    """Parse the percentage that an option gives, such as `1%`, as a share. Errors: UsageError."""
    try:
        found = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        found = -1.0
    if not 0 < found <= 1:
        raise UsageError(f"{option} {text} is no percentage", remedy=f"e.g. {option} 1%")
    return found


def write_text(path: Path, text: str) -> None:
    """Write a file that the user requested. Errors: UsageError if it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def parameters(options: argparse.Namespace) -> dict[str, object]:
    """Parameters of the program `command`, from the options. Errors: UsageError."""
    if options.command and options.script:
        raise UsageError("there are a command and a --script", remedy="leave one of them out")
    if not options.command and not options.script:
        remedy = "write the command after --, such as: -- sleep 0.3"
        raise UsageError("there is nothing to measure", remedy=remedy)
    named = [*options.command[1:], *filter(None, [options.input])]
    files = [*options.files, *_named(named, options.files)]
    return {
        "command": shlex.join(options.command),
        "script": options.script,
        "files": files,
        "packages": options.packages,
        "variables": options.env,
        "input": options.input,
        "prepare": options.prepare,
        "conclude": options.conclude,
        "service": options.service,
        "ready": options.ready,
        "figures": options.figure,
        "verify": options.verify,
        "expect": options.expect,
        "exit_codes": options.exit_codes,
        "startup": options.startup or None,
        "patience": options.patience,
    }


def _named(words: list[str], files: list[str]) -> list[str]:
    """Select the words that are relative paths of existing files not yet covered by `files`."""
    covered = {Path(name).resolve() for name in files}
    found = []
    for word in dict.fromkeys(words):
        path = Path(word)
        relative = not path.is_absolute() and word not in (".", "..") and not word.startswith("-")
        if relative and path.exists() and not covered & {path.resolve(), *path.resolve().parents}:
            found.append(word)
    return found
