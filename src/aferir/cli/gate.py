"""Fail if a change made a program slower, for continuous integration: two versions side by side.

Two revisions of a git repository (each built in a temporary worktree), two commands, or two
existing runs. First base runs beside itself, which shows the precision of this machine; then base
and head run in pairs until the answer is clear or the time is used up. Exit codes: 0 head is within
the limit; 1 it is beyond it; 5 undecided; others as of any verb.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.cli.list_ import add_runs
from aferir.errors import UndecidedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aferir.cli.gate_runs import Itself
    from aferir.gate.judge import Verdict
    from aferir.model.plan import Parameter
    from aferir.statistics.sequential import Limits

NAME = "gate"
HELP = "fail where a change made a program slower (for continuous integration)"
UNDECIDED = UndecidedError.exit_code
_MOST_PAIRS = 5000
_EXAMPLES = """\
examples:
  aferir gate --base main --head HEAD --build 'make -j2' --at-most 3% -- ./bench
  aferir gate --base main --head HEAD --build 'make' --in podman -- ./bench
  aferir gate --base-command './bench-old' --head-command './bench-new'
  aferir gate --base-run runs/A --head-run runs/B
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir gate`."""
    parser.epilog = _EXAMPLES
    _sides(parser)
    _measurement(parser)
    add = parser.add_argument
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    add("--markdown", type=Path, metavar="FILE", help="write a comment for a pull request")
    add(
        "--github-benchmark",
        type=Path,
        metavar="FILE",
        help="write JSON for github-action-benchmark",
    )
    add("--bencher", type=Path, metavar="FILE", help="write JSON in Bencher Metric Format")
    add("--json", action="store_true", help="print the answer as JSON")
    add_runs(parser)
    add("command", nargs="*", help=argparse.SUPPRESS)


def _sides(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--base", metavar="REV", help="git revision that head is compared with")
    add("--head", metavar="REV", help="git revision that is judged")
    add(
        "--build",
        default="",
        metavar="LINE",
        help="shell command that builds a revision in its worktree",
    )
    add(
        "--repository",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder of the repository (default: this one)",
    )
    add(
        "--base-command",
        metavar="LINE",
        help="base, if two commands are compared instead of two revisions",
    )
    add("--head-command", metavar="LINE", help="command that is judged")
    add("--base-run", type=Path, metavar="FOLDER", help="base, if two existing runs are compared")
    add("--head-run", type=Path, metavar="FOLDER", help="run that is judged")


def _measurement(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        *("--in", "-e"),
        dest="environment",
        default="native",
        metavar="SPEC",
        help="environment in which both run, as in `aferir measure` (default: native)",
    )
    add("--packages", default="none", metavar="NAMES", help="Debian packages for its image")
    add(
        "--at-most",
        default="3%",
        metavar="PERCENT",
        help="by how much head may be slower (default: 3%%)",
    )
    add(
        "--metric",
        default="auto",
        help="what is compared: duration_s, cpu_s or a figure; auto (the default): duration_s, or "
        "cpu_s if durations are too noisy and the program computes nearly all the time",
    )
    add(
        "--figure",
        action="append",
        default=[],
        metavar="SPEC",
        help="figure that the command prints, as in `aferir measure`",
    )
    add(
        "--verify",
        metavar="LINE",
        help="shell command that reads the output, and fails if it is wrong",
    )
    add("--prepare", metavar="LINE", help="shell command before each repetition, not timed")
    add(
        "--time",
        default="5min",
        metavar="LIMIT",
        help="time limit of all repetitions (default: 5min)",
    )
    add(
        "--limit",
        default="10min",
        metavar="LIMIT",
        help="time limit of one repetition, and of one build (default: 10min)",
    )
    add(
        "-n",
        dest="pairs",
        type=int,
        default=_MOST_PAIRS,
        help="largest number of pairs (default: %(default)s)",
    )


def execute(options: argparse.Namespace) -> int:
    """Judge the two versions, write the requested files, and return the verdict's exit code."""
    from aferir.statistics.sequential import Limits

    limits = Limits(at_most=_share(options.at_most))
    chosen = [
        word
        for word, given in (
            ("--base and --head", options.base or options.head),
            ("--base-command and --head-command", options.base_command or options.head_command),
            ("--base-run and --head-run", options.base_run or options.head_run),
        )
        if given
    ]
    if len(chosen) != 1:
        raise UsageError(
            "a gate compares two versions, named in one of three ways",
            remedy="give --base and --head, or --base-command and --head-command, or --base-run "
            "and --head-run",
        )
    if options.base_run or options.head_run:
        verdict, name = _of_runs(options, limits)
        return _say(options, name, verdict, None)
    if options.base or options.head:
        verdict, itself, name = _of_revisions(options, limits)
    else:
        verdict, itself, name = _of_commands(options, limits)
    return _say(options, name, verdict, itself)


def _share(text: str) -> float:
    """Parse a percentage such as `3%` or `3 %`. Errors: UsageError."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise UsageError(f"--at-most {text} is no percentage", remedy="e.g. --at-most 3%")
    return share


def _of_revisions(options: argparse.Namespace, limits: Limits) -> tuple[Verdict, Itself, str]:
    from aferir.gate.revisions import built

    if not (options.base and options.head and options.command):
        raise UsageError(
            "two revisions and a command are needed",
            remedy="aferir gate --base main --head HEAD --build 'make' -- ./bench",
        )
    name = shlex.join(options.command)
    pair = (options.base, options.head)
    with built(options.repository, pair, options.build, _seconds(options.limit)) as made:
        arms = [_arm(options, name, one.folder) for one in made]
        verdict, itself = _measured(options, limits, arms[0], arms[1])
    return verdict, itself, name


def _of_commands(options: argparse.Namespace, limits: Limits) -> tuple[Verdict, Itself, str]:
    if not (options.base_command and options.head_command) or options.command:
        raise UsageError(
            "two commands are needed, and none after --",
            remedy="aferir gate --base-command './old' --head-command './new'",
        )
    arms = [
        _arm(options, line, Path.cwd()) for line in (options.base_command, options.head_command)
    ]
    return *_measured(options, limits, arms[0], arms[1]), options.head_command


def _arm(options: argparse.Namespace, line: str, folder: Path) -> dict[str, Parameter]:
    """Parameters of the program that runs one version.

    On the host the version runs in `folder`; other environments get a copy of the folder's files,
    without `.git`.
    """
    from aferir import registry
    from aferir.cli.gate_runs import where

    if registry.kinds()[where(options.environment, "none").kind].on_host:
        return {"command": line, "directory": str(folder)}
    files = sorted(str(path) for path in folder.iterdir() if path.name != ".git")
    return {"script": f"exec {line}", "files": shlex.join(files)}


def _measured(
    options: argparse.Namespace,
    limits: Limits,
    base: Mapping[str, Parameter],
    head: Mapping[str, Parameter],
) -> tuple[Verdict, Itself]:
    """Measure base beside itself, then base beside head until the verdict is clear."""
    from aferir.cli.gate_runs import Ask, beside_itself, side_by_side, where

    given = {
        "figures": shlex.join(options.figure),
        "verify": options.verify,
        "prepare": options.prepare,
    }
    around: dict[str, Parameter] = {"packages": "none"}
    around |= {key: value for key, value in given.items() if value}
    ask = Ask(
        base={**around, **base},
        head={**around, **head},
        metric=options.metric,
        limits=limits,
        budget_s=_seconds(options.time),
        limit_s=_seconds(options.limit),
        most=options.pairs,
        runs=options.runs,
        where=where(options.environment, options.packages),
    )
    itself = beside_itself(ask)
    return side_by_side(ask, itself), itself


def _of_runs(options: argparse.Namespace, limits: Limits) -> tuple[Verdict, str]:
    from aferir.cli.gate_runs import of_two_runs

    if not (options.base_run and options.head_run):
        raise UsageError("two runs are needed", remedy="give both --base-run and --head-run")
    return of_two_runs(options.base_run, options.head_run, options.metric, limits)


def _seconds(text: str) -> float:
    from aferir.model.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time: {error}", remedy="e.g. 5min") from None


def _say(options: argparse.Namespace, name: str, verdict: Verdict, itself: Itself | None) -> int:
    import msgspec

    from aferir.cli.command_options import write_text
    from aferir.gate import forms
    from aferir.gate.words import details, headline

    seen = None if itself is None else itself.seen
    noisy = None if itself is None else itself.noisy
    for path, text in (
        (options.junit, forms.junit(name, verdict, seen, noisy)),
        (options.markdown, forms.markdown(name, verdict, seen, noisy)),
        (options.github_benchmark, forms.github_benchmark(name, verdict)),
        (options.bencher, forms.bencher(name, verdict)),
    ):
        if path is not None:
            write_text(path, text)
    if options.json:
        told = {"name": name, "verdict": verdict, "itself": seen, "said": headline(verdict)}
        print(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        print(headline(verdict))
        for line in details(verdict, seen, noisy):
            print(f"- {line}")
    return {"pass": 0, "slower": 1}.get(verdict.answer, UNDECIDED)
