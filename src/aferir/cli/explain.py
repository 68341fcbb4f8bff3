"""Explain the cost of an environment for a program, by removing each of its features.

Features are what the environment's kind declares: filter of system calls, network, overlay, limits
... They are removed alone and together, in the arms of a fractional factorial design, so that each
cause is separated from every other one and from the interactions of two. All arms run side by side
in every round, together with the two ends: the baseline, and the environment with all features.
Where two causes interact and the arms cannot tell which two, twice as many arms are run afterwards.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from aferir.cli.command_options import (
    Budget,
    add_program,
    add_rounds,
    parameters,
    seconds,
    share,
    write_text,
)
from aferir.errors import AferirError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aferir.model.plan import Plan
    from aferir.report.causes import Explanation
    from aferir.runner.rounds import Enough
    from aferir.runner.stopping import History, Round

NAME = "explain"
HELP = "measure how much each feature of an environment costs a program"
_EXAMPLES = """\
examples:
  aferir explain --in podman -- ./my-program
  aferir explain --in 'podman network=bridge user_namespace=true' -- ./my-program --input data
  aferir explain --in gvisor --cause 'own kernel' --cause 'seccomp filter' -- git status
  aferir explain --in 'native cpu_quota=0.5 pin=[0]' -- xz -k big.txt
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir explain`."""
    parser.epilog = _EXAMPLES
    parser.usage = "aferir explain --in ENVIRONMENT [OPTION ...] -- COMMAND ..."
    add = parser.add_argument
    add(
        *("--in", "-e"),
        dest="environment",
        required=True,
        metavar="SPEC",
        help="the environment: its kind or short name, then KEY=VALUE as in an experiment file",
    )
    add("--against", default="native", metavar="SPEC", help="the baseline (default: native)")
    add(
        "--cause",
        dest="causes",
        action="append",
        default=[],
        metavar="NAME",
        help="feature to remove; several times (default: all that the environment has)",
    )
    add_program(parser)
    add_rounds(parser, rounds="8..60", budget="2min", warmup=1)
    add(
        "--within",
        default="1%",
        metavar="PERCENT",
        help="end when the half-width of each cause's interval is below this (default: 1%%)",
    )
    add(
        "--no-more-arms",
        action="store_true",
        help="run no further arms to find out which two features interact",
    )


def execute(options: argparse.Namespace) -> int:
    """Plan, run and print the causes; returns 1 if an arm has no figure."""
    share("--within", options.within)
    seconds("--time", options.time)
    document = _document(options)
    plan = _plan(document)
    while why := _kept(document, plan):
        document["explain"] |= why
        plan = _plan(document)
    code, explanations = _run(options, document, plan, last=options.no_more_arms)
    if options.no_more_arms:
        return code
    from aferir.report.explain import suspects

    mixed = [name for one in explanations for name in suspects(one)]
    if not mixed:
        return code
    print(f"- more arms, to tell what acts together with: {mixed[0]}", file=sys.stderr)
    document["explain"]["fold"] = mixed[0]
    return _run(options, document, _plan(document), last=True)[0]


def _document(options: argparse.Namespace) -> dict[str, Any]:
    from aferir import registry
    from aferir.config import quick
    from aferir.config.shorthand import alike, environment_tables
    from aferir.programs.command.figures import read_spec

    kinds = registry.kinds()
    tables = alike(environment_tables([options.against, options.environment], kinds), kinds)
    return quick.experiment(
        parameters(options),
        tables,
        rounds=quick.Rounds.read(options.rounds),
        warmup=options.warmup,
        budget_s=seconds("--time", options.time),
        limit_s=seconds("--limit", options.limit),
        verb="explain",
        explain={"environment": tables[1]["name"]}
        | ({"causes": options.causes} if options.causes else {}),
        metric=read_spec(options.figure[0]).name if options.figure else "",
    )


def _plan(document: Mapping[str, object]) -> Plan:
    from aferir import config, machine, registry

    return config.plan_of(
        document,
        machine.host_limits(),
        registry.all_programs(),
        registry.kinds(),
        source="the command line",
    )


def _kept(document: Mapping[str, Any], plan: Plan) -> dict[str, object]:
    """Return `kept` and `causes` for `[explain]`: features that cannot be removed here are kept.

    {} if this host can remove all.

    Errors: those of the environment as a whole, or if every feature fails on its own.
    """
    assert plan.design is not None
    _try(plan, plan.design.environment)
    try:
        _try(plan, plan.design.arms[-1].environment)
    except AferirError as whole:
        kept = list(document["explain"].get("kept", []))
        for one in plan.design.varied:
            alone = {**document, "explain": {**document["explain"], "causes": [one.name]}}
            own = _plan(alone)
            assert own.design is not None
            try:
                _try(own, own.design.arms[-1].environment)
            except AferirError as error:
                kept.append(f"{one.name}: {' '.join(error.message.split())[:160]}")
        names = [line.partition(":")[0] for line in kept]
        left = [one.name for one in plan.design.varied if one.name not in names]
        if len(left) == len(plan.design.varied):
            raise whole from None
        return {"kept": kept, "causes": left}
    return {}


def _try(plan: Plan, name: str) -> None:
    """Allocate an instance of the environment `name`, and release it. Errors: those of its kind."""
    from aferir import registry
    from aferir.cli.console import note

    spec = next(one for one in plan.environments if one.name == name)
    environment = registry.kinds()[spec.kind].make(registry.context(note))
    environment.prepare(spec.packages)
    environment.allocate(spec).release()


def _run(
    options: argparse.Namespace, document: Mapping[str, object], plan: Plan, *, last: bool
) -> tuple[int, tuple[Explanation, ...]]:
    from aferir import probes, runner
    from aferir.cli.run import report_run
    from aferir.cli.running import carry_out
    from aferir.config.document import write_toml
    from aferir.model.provenance import TIME_LIMIT
    from aferir.programs.command.report import DOUBTS
    from aferir.report.asked import doubt_lines
    from aferir.report.explain import explain, suspects

    text = write_toml(document)
    if options.save is not None:
        write_text(options.save, text)
    run = carry_out(
        plan,
        text.encode(),
        options.runs,
        fresh=options.new,
        reports=True,
        watch=runner.Watch(probes.all_probes()),
        enough=_precise(plan, seconds("--time", options.time), share("--within", options.within)),
    )
    found = explain(run.plan, run.records).explanations
    more = doubt_lines(run.records, DOUBTS)
    quiet = options.json and not last and any(suspects(one) for one in found)
    code = report_run(run, json=options.json and not quiet, ignored=(TIME_LIMIT,), more=more)
    return code, found


def _precise(plan: Plan, budget_s: float, within: float) -> Enough:
    """Stopping rule: every cause is known precisely, or the time is used up."""
    from aferir.report.explain import explain

    budget = Budget(budget_s)

    def enough(history: History, turn: Round) -> bool:
        spent = budget.spent()
        if turn.number < plan.stop.minimum:
            return False
        if spent:
            return True
        records = [one for cell in plan.cells for one in history.of(cell.id, turn.slot)]
        found = explain(plan, records).explanations
        intervals = [cause.interval for one in found for cause in one.causes]
        return bool(found) and all(
            one is not None and one.high - one.low <= 2 * within for one in intervals
        )

    return enough
