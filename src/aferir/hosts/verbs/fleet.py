"""Run one command on hosts that should be alike, rank them, and report those that differ.

All hosts of --hosts run it natively in the same rounds, one after another in a changing order.
Hosts are compared only with those that have the same processor and number of CPUs, and are judged
by how much these differ from one another. If all hosts are alike, the probability of reporting any
is at most 5 %. Rounds end once a host that differs by --find would be reported.
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
    share,
    write_text,
)
from aferir.cli.list_ import add_hosts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aferir.hosts.fleet import Group
    from aferir.model.plan import Plan
    from aferir.runner.rounds import Enough
    from aferir.runner.stopping import History, Round

NAME = "fleet"
HELP = "run a command on hosts that are to be alike, and name the one that differs"
_EXAMPLES = """\
examples:
  aferir fleet --hosts nodes.toml -- sysbench cpu run
  aferir fleet --hosts nodes.toml -n 30 --figure 'rate_mbs(higher)=regex:([0-9.]+) MB/s' \\
      --metric rate_mbs -- ./bench
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir fleet`."""
    parser.epilog = _EXAMPLES
    parser.usage = "aferir fleet --hosts FILE [OPTION ...] -- COMMAND ..."
    add = parser.add_argument
    add_hosts(parser, required=True)
    add_program(parser)
    add_rounds(parser, rounds="20..1000", budget="20min", warmup=1)
    add("--metric", default="duration_s", help="what is compared (default: duration_s)")
    add("--find", default="3%", metavar="SHARE", help="difference to be found (default: 3%%)")


def execute(options: argparse.Namespace) -> int:
    """Measure, rank and report; returns exit code 1 if a host differs or has no figure."""
    import msgspec

    from aferir import config, machine, probes, registry, runner
    from aferir.cli.running import carry_out, host_tables, reached
    from aferir.config import quick
    from aferir.config.document import write_toml
    from aferir.hosts import fleet
    from aferir.model.host import kind_of

    tables = host_tables(options.hosts)
    names = [str(table["name"]) for table in tables]
    limit_s, budget_s = seconds("--limit", options.limit), seconds("--time", options.time)
    difference = share("--find", options.find)
    document = quick.experiment(
        parameters(options),
        [{"name": "native", "kind": "native"}],
        rounds=quick.Rounds.read(options.rounds),
        warmup=options.warmup,
        budget_s=budget_s,
        limit_s=limit_s,
        verb="fleet",
    )
    document |= {"host": tables, "factors": {"environment.host": names}}
    kinds, programs = registry.kinds(), registry.all_programs()
    text = write_toml(document)
    if options.save is not None:
        write_text(options.save, text)
    limits = machine.host_limits()
    plan = config.plan_of(document, limits, programs, kinds, source="the command line")
    with reached(plan.hosts) as others:
        assert others is not None
        plan = config.plan_of(
            document, others.limits(limits), programs, kinds, source="the command line"
        )
        described = {name: kind_of(facts) for name, facts in others.facts().items()}
        run = carry_out(
            plan,
            text.encode(),
            options.runs,
            fresh=options.new,
            watch=runner.Watch(probes.all_probes()),
            enough=_enough(plan, options.metric, described, budget_s, difference),
            budget_s=budget_s,
            others=others,
        )
    values = fleet.values_of(run.plan, run.records, options.metric)
    found = fleet.groups(values, described)
    silent = [name for name in names if name not in values]
    said = [*fleet.sentences(found, options.metric), *(f"{n} gave no figure" for n in silent)]
    if options.json:
        told = {"run": str(run.folder), "groups": found, "silent": silent, "said": said}
        print(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        _show(found)
        for line in said:
            print(f"- {line}")
    return 1 if silent or any(one.differs for group in found for one in group.standings) else 0


def _enough(
    plan: Plan, metric: str, kinds: Mapping[str, str], budget_s: float, difference: float
) -> Enough:
    """Stopping rule: a host that differs by that share would be reported, or time is used up."""
    from aferir.errors import ProgramError
    from aferir.hosts import fleet

    budget = Budget(budget_s)

    def enough(history: History, turn: Round) -> bool:
        spent = budget.spent()
        if turn.number < plan.stop.minimum:
            return False
        if spent:
            return True
        records = [one for cell in plan.cells for one in history.of(cell.id, turn.slot)]
        try:
            values = fleet.values_of(plan, records, metric)
        except ProgramError:  # more rounds will not give it; it is told after the run
            return True
        return fleet.precise(fleet.groups(values, kinds), difference)

    return enough


def _show(found: Sequence[Group]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console

    for group in found:
        print(f"{group.kind or 'of an unknown kind'}; {group.rounds} rounds")
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for title in ("host", "median", "beside its peers", "interval"):
            table.add_column(title)
        for one in group.standings:
            ends = "-"
            if one.interval is not None:
                ends = f"{one.interval.low:.4f} to {one.interval.high:.4f}"
            name = f"[red]{escape(one.name)}[/]" if one.differs else escape(one.name)
            table.add_row(name, f"{group.medians[one.name]:.6g}", f"{one.ratio:.4f}", ends)
        console().print(table)
