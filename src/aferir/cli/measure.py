"""Measure any command natively and in environments, side by side and in rounds.

Everything after `--` is the command: it is started without a shell, in a new folder with the files
that it names (and those of --files), and timed inside each environment from exec to exit. A program
without a path is looked up in each environment; packages that images lack for it are installed
there once. The first environment is the baseline.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.cli.command_options import (
    Budget,
    add_program,
    add_rounds,
    parameters,
    seconds,
    write_text,
)
from aferir.cli.list_ import add_hosts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aferir.model.plan import HostLimits, Plan
    from aferir.runner.rounds import Enough
    from aferir.runner.stopping import History, Round

NAME = "measure"
HELP = "measure any command, natively and in containers, sandboxes and guests"
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
    add_program(parser)
    add_rounds(parser, rounds="3..100", budget="8s", warmup=0)
    add_hosts(parser)


def execute(options: argparse.Namespace) -> int:
    """Plan, run and print the result; returns 1 if an environment has no figure."""
    from aferir import config, machine, probes, registry, runner
    from aferir.cli.run import report_run
    from aferir.cli.running import carry_out, host_tables, reached
    from aferir.config import quick
    from aferir.config.document import write_toml
    from aferir.config.shorthand import alike, environment_tables, usual
    from aferir.model.provenance import TIME_LIMIT
    from aferir.programs.command.report import DOUBTS
    from aferir.report.asked import doubt_lines, figure_lines

    kinds = registry.kinds()

    def plan_of(document: Mapping[str, object], limits: HostLimits) -> Plan:
        programs = registry.all_programs()
        return config.plan_of(document, limits, programs, kinds, source="the command line")

    budget_s = seconds("--time", options.time)
    document = quick.experiment(
        parameters(options),
        alike(environment_tables(options.environments or usual(kinds), kinds), kinds),
        rounds=quick.Rounds.read(options.rounds),
        warmup=options.warmup,
        budget_s=budget_s,
        limit_s=seconds("--limit", options.limit),
    )
    limits = machine.host_limits()
    if options.hosts is not None:
        document["host"] = host_tables(options.hosts)
    text = write_toml(document)
    plan = plan_of(document, limits)
    if options.save is not None:
        write_text(options.save, text)
    with reached(plan.hosts) as others:
        if others is not None:
            plan = plan_of(document, others.limits(limits))
        run = carry_out(
            plan,
            text.encode(),
            options.runs,
            fresh=options.new,
            reports=True,
            # The core's frequency is not measured: that would take longer than many programs.
            watch=runner.Watch(probes.all_probes()),
            enough=_within(budget_s, plan.stop.minimum),
            budget_s=budget_s,
            others=others,
        )
    more = figure_lines(run.plan, run.records) + doubt_lines(run.records, DOUBTS)
    return report_run(run, json=options.json, ignored=(TIME_LIMIT,), more=more)


def _within(budget_s: float, least: int) -> Enough:
    """Stopping rule: no more rounds fit in the time, and the least number is reached."""
    budget = Budget(budget_s)

    def enough(_: History, turn: Round) -> bool:
        return budget.spent() and turn.number >= least

    return enough
