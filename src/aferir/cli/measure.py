"""Measure any command natively against environments, side by side and in rounds.

Everything after `--` is the command as it stands: it is started without a shell, in a new folder
that holds the files it names (and those of --files), timed inside each environment from its
execution to its end. The bare name of a program is looked up in each environment; what images lack
of it is installed there, once. The first environment is what the others are compared with.
"""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.cli.list_ import add_runs
from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.runner.rounds import Enough
    from aferir.runner.stopping import History, Round

NAME = "measure"
HELP = "measure any command natively against containers, sandboxes and guests"
_EXAMPLES = """\
examples:
  aferir measure -- sleep 0.3
  aferir measure --in native --in podman --in gvisor -- sort -n numbers.txt
  aferir measure --in native --in 'podman image=debian:12 network=none' --files . \\
      --prepare 'make clean' -- make -j2
  aferir measure --figure 'rate_rps(higher)=regex:([0-9.]+) requests/s' -- ./bench
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir measure`."""
    parser.epilog = _EXAMPLES
    parser.usage = "aferir measure [OPTION ...] -- COMMAND ..."
    add = parser.add_argument
    add(
        *("--in", "-e"),
        dest="environments",
        action="append",
        default=[],
        metavar="SPEC",
        help="an environment: its kind or short name (native, container, podman, docker, gvisor, "
        "vm ...), then KEY=VALUE as in an experiment file; several times (default: native, and "
        "container, podman and gvisor where they are here)",
    )
    add("--script", metavar="TEXT", help="a script for sh in place of the command")
    add("--files", action="append", default=[], metavar="PATH", help="file or folder taken along")
    add("--packages", metavar="NAMES", help="Debian packages for images (default: auto; or none)")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="variable for the command")
    add("--input", metavar="FILE", help="file that is its standard input")
    add("--prepare", metavar="LINE", help="for sh, before each repetition, not timed")
    add("--conclude", metavar="LINE", help="for sh, after each repetition, not timed")
    add("--service", metavar="LINE", help="for sh, runs beside the command")
    add(
        "--ready", metavar="WHEN", help="when the service is: 'port N', 'line TEXT', 'command LINE'"
    )
    add(
        "--figure",
        action="append",
        default=[],
        metavar="SPEC",
        help="NAME=regex:EXPRESSION, NAME=json:PATH, NAME=csv:COLUMN or NAME=last; NAME(higher)",
    )
    add("--verify", metavar="LINE", help="for sh, gets the output, fails where it is wrong")
    add("--expect", metavar="TEXT", help="its whole output")
    add("--exit-codes", metavar="CODES", help="that are right (default: 0)")
    add("--startup", action="store_true", help="count the way into the environment too")
    add("-n", dest="rounds", default="3..100", metavar="MIN..MAX", help="rounds (default: 3..100)")
    add("--time", default="8s", metavar="LIMIT", help="for all rounds together (default: 8s)")
    add("--limit", default="10min", metavar="LIMIT", help="for one repetition (default: 10min)")
    add("--warmup", type=int, default=0, metavar="N", help="rounds before the first that counts")
    add(
        "--save", type=Path, metavar="FILE", help="also write the experiment file, for `aferir run`"
    )
    add("--new", action="store_true", help="start anew even if one is unfinished")
    add("--json", action="store_true", help="print the evaluation as JSON")
    add_runs(parser)
    add("command", nargs="*", help=argparse.SUPPRESS)
    parser.set_defaults(keeps_results=True)


def execute(options: argparse.Namespace) -> int:
    """Make the experiment, run it, say what it gave; 1 where an environment gave no figure."""
    from aferir import config, machine, probes, registry, runner
    from aferir.cli.run import report_run
    from aferir.cli.running import carry_out
    from aferir.config import quick
    from aferir.config.document import write_toml
    from aferir.config.shorthand import environment_tables, usual
    from aferir.programs.command.report import DOUBTS
    from aferir.report.asked import doubt_lines, figure_lines

    kinds = registry.kinds()
    budget_s = _seconds("--time", options.time)
    document = quick.experiment(
        _parameters(options),
        environment_tables(options.environments or usual(kinds), kinds),
        rounds=quick.Rounds.read(options.rounds),
        warmup=options.warmup,
        budget_s=budget_s,
        limit_s=_seconds("--limit", options.limit),
    )
    text = write_toml(document)
    plan = config.plan_of(
        document, machine.host_limits(), registry.all_programs(), kinds, source="the command line"
    )
    if options.save is not None:
        write_text(options.save, text)
    run = carry_out(
        plan,
        text.encode(),
        options.runs,
        fresh=options.new,
        reports=True,
        # The core's frequency is not measured: that takes longer than many a program.
        watch=runner.Watch(probes.all_probes()),
        enough=_within(budget_s, plan.stop.minimum),
    )
    more = figure_lines(run.plan, run.records) + doubt_lines(run.records, DOUBTS)
    return report_run(run, json=options.json, ignored=("time-limit",), more=more)


def _seconds(option: str, text: str) -> float:
    from aferir.model.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", remedy="e.g. 30s or 5min") from None


def _within(budget_s: float, least: int) -> Enough:
    """No more rounds than fit into the time, but so many at least."""
    begun: list[float] = []

    def enough(_: History, turn: Round) -> bool:
        begun.append(time.monotonic())
        spent_s = begun[-1] - begun[0]
        rounds = len(begun) - 1
        return turn.number >= least and rounds > 0 and spent_s * (rounds + 1) / rounds > budget_s

    return enough


def write_text(path: Path, text: str) -> None:
    """Write a file that was asked for. Errors: UsageError where that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _parameters(options: argparse.Namespace) -> dict[str, object]:
    """The keys of `program = "command"` that the options say."""
    if bool(options.command) == bool(options.script):
        raise UsageError(
            "there is nothing to measure" if not options.script else "there are two commands",
            remedy="write the command after --, e.g. aferir measure -- sleep 0.3",
        )
    files = [*options.files, *_named(options.command, options.files)]
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
    }


def _named(words: list[str], files: list[str]) -> list[str]:
    """Words of the command that are files here, but for the program itself and system files."""
    covered = {Path(name).resolve() for name in files}
    found = []
    for word in dict.fromkeys(words[1:]):
        path = Path(word)
        relative = not path.is_absolute() and word not in (".", "..") and not word.startswith("-")
        if relative and path.exists() and not covered & {path.resolve(), *path.resolve().parents}:
            found.append(word)
    return found
