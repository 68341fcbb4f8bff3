"""Run the experiments of a file, and write the report.

After an interruption, a crash or a SIGKILL, the same command continues where it stopped: with the
next repetition, or with the report. What this machine cannot run is left out and reported, with the
command that would install it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.cli.list_ import add_hosts, add_runs

if TYPE_CHECKING:
    from aferir.model.plan import HostLimits, Plan
    from aferir.report.model import Evaluation
    from aferir.store import Run

NAME = "run"
HELP = "carry out an experiment file and write the report"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir run`."""
    parser.add_argument("experiment", type=Path, metavar="FILE", help="an experiment file (TOML)")
    parser.add_argument(
        "--new", action="store_true", help="start a new run even if one is unfinished"
    )
    parser.add_argument(
        "--check", action="store_true", help="only say whether the file is right, start nothing"
    )
    parser.add_argument(
        "--machine",
        metavar="CPUS,MEMORY",
        help="with --check: check for a machine of this size, and hosts like it, e.g. 16,32GiB",
    )
    parser.add_argument("--json", action="store_true", help="print the evaluation as JSON")
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="GROUP",
        help="only these cells, which differ in their environment alone, e.g. CG/threads=2",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run groups on the workers of this scheduler of Dask, one at a time on each host",
    )
    add_hosts(parser)
    add_runs(parser)
    parser.set_defaults(keeps_results=True)


def execute(options: argparse.Namespace) -> int:
    """Validate, run, report; exit code 1 if a cell failed in all its repetitions."""
    import msgspec

    from aferir import config, machine, registry
    from aferir.config.hosts import capped

    programs = registry.all_programs()
    experiment = config.read_bytes(options.experiment)
    if options.hosts is not None:
        more = config.read_bytes(options.hosts)
        experiment = config.with_hosts(experiment, more, source=str(options.hosts))
    limits = machine.host_limits() if options.machine is None else _other_machine(options)

    def planned(limits: HostLimits) -> Plan:
        source = str(options.experiment)
        plan = config.parse(experiment, limits, programs, registry.kinds(), source=source)
        return only(plan, options.group) if options.group else plan

    plan = planned(limits)
    if options.machine is not None:
        like_it = {host.name: capped(limits, host) for host in plan.hosts}
        plan = planned(msgspec.structs.replace(limits, others=like_it))
    if options.check:
        print(f"{options.experiment} is right: {_size(plan)}")
        for text in (*plan.shrunk, *_shortage(plan)):
            print(f"- {text}")
        return 0

    from aferir.cli.running import carry_out, reached

    for text in _shortage(plan):
        print(text, file=sys.stderr)
    if options.dask is not None:
        return report_run(_on_dask(plan, experiment, options), json=options.json)
    with reached(plan.hosts) as others:
        if others is not None:
            plan = planned(others.limits(limits))
        fresh = options.new
        run = carry_out(plan, experiment, options.runs, fresh=fresh, reports=True, others=others)
    return report_run(run, json=options.json)


def _size(plan: Plan) -> str:
    """Number of cells and of repetitions, those to warm up among them, and the time limit."""
    from aferir.model.units import format_duration

    repetitions = len(plan.cells) * (plan.warmup + plan.stop.maximum)
    limit = format_duration(plan.time_limit_s)
    return f"{len(plan.cells)} cells, at most {repetitions} repetitions within {limit}"


def _shortage(plan: Plan) -> list[str]:
    """Says so if the plan's repetitions cannot claim any difference between its environments.

    What is left out or emulated, which nobody knows yet, is not compared, and fewer may do then.
    """
    from aferir.model.plan import environment_family
    from aferir.statistics.claims import shortage

    baseline = {c.group for c in plan.cells if environment_family(c.environment) == plan.baseline}
    compared = [c for c in plan.cells if environment_family(c.environment) != plan.baseline]
    comparisons = sum(cell.group in baseline for cell in compared) if plan.design is None else 0
    text = shortage(plan.stop.maximum, comparisons)
    return [f"{text}, unless environments are left out or emulated"] if text else []


def _other_machine(options: argparse.Namespace) -> HostLimits:
    """Parse `--machine` into limits; the check assumes them for every [[host]] as well.

    Errors: UsageError if it is not CPUS,MEMORY, or given without `--check`.
    """
    from aferir.errors import UsageError
    from aferir.model.plan import HostLimits
    from aferir.model.units import parse_size

    if not options.check:
        raise UsageError("--machine is for a check alone", remedy="add --check")
    cpus, _, memory = options.machine.partition(",")
    try:
        limits = HostLimits(cpus=tuple(range(int(cpus))), memory_bytes=parse_size(memory))
    except ValueError:
        limits = HostLimits(cpus=(), memory_bytes=0)
    if not limits.cpus:
        raise UsageError(
            f"--machine {options.machine}: not CPUS,MEMORY",
            remedy="e.g. --machine 16,32GiB",
        )
    return limits


def only(plan: Plan, groups: Sequence[str]) -> Plan:
    """Reduce the plan to the named groups of cells. Errors: UsageError if it lacks one of them."""
    import msgspec

    from aferir.errors import UsageError
    from aferir.model.words import choose

    known = list(dict.fromkeys(cell.group for cell in plan.cells))
    if missing := next((group for group in groups if group not in known), None):
        raise UsageError(
            f"--group {missing}: there is no such group of cells", remedy=choose(missing, known)
        )
    cells = tuple(cell for cell in plan.cells if cell.group in groups)
    used = {cell.environment for cell in cells}
    specs = tuple(spec for spec in plan.environments if spec.name in used)
    return msgspec.structs.replace(plan, cells=cells, environments=specs)


def _on_dask(plan: Plan, experiment: bytes, options: argparse.Namespace) -> Run:
    """Run the plan on a Dask cluster. Errors: UsageError if the plan names hosts of its own."""
    from aferir.cli.on_dask import carry_out
    from aferir.errors import UsageError

    if plan.hosts:
        raise UsageError(
            "--dask: its workers are the hosts, and the file names others",
            remedy="leave out `host`, or --dask",
        )
    return carry_out(
        plan,
        experiment,
        options.runs,
        address=options.dask,
        fresh=options.new,
        note=lambda said: print(f"aferir: {said}", file=sys.stderr),
    )


def report_run(
    run: Run, *, json: bool, ignored: Collection[str] = (), more: Collection[str] = ()
) -> int:
    """Print the result of a run and write its report; returns 1 if a cell always failed.

    `ignored` are codes of warnings that are not printed, `more` are further lines. The result is
    printed before the report's charts are drawn.
    """
    from aferir.cli.publish import evaluate, write_all
    from aferir.errors import RefusedError

    try:
        evaluation = evaluate(run)
        if not json:
            print_verdict(run, evaluation, ignored)
            for line in more:
                print(f"- {line}")
            sys.stdout.flush()
        written = write_all(run, evaluation)
    except RefusedError as error:
        remedy = f"{error.remedy}, and run the same command again: only the report is left to do"
        raise RefusedError(error.message, remedy=remedy) from None
    if json:
        print(written["json"].read_text(encoding="utf-8"), end="")
    else:
        print(f"Report: {written['html']}")
    empty = [cell for cell in evaluation.cells if cell.failures and not cell.points]
    return 1 if empty else 0


def print_verdict(run: Run, evaluation: Evaluation, ignored: Collection[str] = ()) -> None:
    """Print the opening of the report, and what was left out."""
    from aferir.model.provenance import same_reason
    from aferir.report.opening import opening

    for line in opening(evaluation):
        print(f"- {line}")
    for what, finding in same_reason(run.provenance.left_out):
        print(f"- left out: {what}: {finding.message}")
        if finding.remedy:
            print(f"  to add it: {finding.remedy}")
    for warning in run.provenance.warnings:
        if warning.code not in ignored:
            print(f"- {warning.message}")
