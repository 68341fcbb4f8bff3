"""Simulate policies of co-location: tail latency of the service against work of the batch.

Requests arrive in an open loop and need CPU time, batch threads are always runnable, and the CPUs
follow Linux' scheduling classes. Times come from the model, not from a machine: use them only to
compare policies. `--load` is the share of the CPUs that the service needs, or SECOND:SHARE steps.

Each row is a policy. `batch` is the batch's work as a share of what it does without the service,
`system waits` the longest time that a small task of the system took, and `settled`, if the load has
steps, how long after the last step the service level was met again. A quantile is `unanswered` if
the requests at it had no answer when the simulation ended: their queue grows without end.

examples:
  aferir colocate simulate
  aferir colocate simulate --load 0:0.25,10:0.75 --policies default,idle,fifo,aferir
  aferir colocate simulate --load 0.5 --needs pareto --arrivals bursts --interference 1
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aferir.colocation.verbs import scenario_options

if TYPE_CHECKING:
    from aferir.colocation.settings import Sla
    from aferir.colocation.simulation.trial import Outcome, Scenario

NAME = "simulate"
HELP = "policies side by side on simulated time"
_UNANSWERED = "unanswered"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate simulate`."""
    add = parser.add_argument
    add("--policies", metavar="NAME,…", help="policies to be simulated (default: all)")
    scenario_options.add_scenario(parser)
    add("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Simulate each policy on the same requests, and print the results."""
    from aferir.cli.console import status
    from aferir.colocation.policies import POLICIES, make
    from aferir.colocation.simulation.trial import run

    names = options.policies.split(",") if options.policies else list(POLICIES)
    policies = {name: make(name, {}) for name in names}
    scenario = scenario_options.scenario(options)
    rows = []
    for name, policy in policies.items():
        with status(name):
            outcome = run(scenario, policy, options.seed)
        rows.append({"policy": name, **_row(scenario, outcome)})
    _show(options, scenario.sla, rows)
    return 0


def _row(scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    from aferir.colocation.evaluation import settled_s

    told = outcome.latency
    steps = scenario.load.steps
    return {
        "latency_s": told.quantile_s if told else None,
        "low_s": told.low_s if told else None,
        "high_s": told.high_s if told else None,
        "n": outcome.requests,
        "meets": outcome.meets(scenario.sla),
        "violations": outcome.violations,
        "batch_share": outcome.batch_share,
        "system_worst_s": outcome.system_worst_s,
        "changes": outcome.changes,
        "settled_s": settled_s(outcome.answers, scenario.sla, steps[-1][0])
        if len(steps) > 1
        else None,
    }


def _show(options: argparse.Namespace, sla: Sla, rows: list[dict[str, Any]]) -> None:
    if options.json:
        import msgspec

        document = {"seed": options.seed, "simulated": True, "sla": sla, "rows": rows}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
        return
    from rich.table import Table

    from aferir.cli.console import console

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("policy")
    titles = [
        f"p{100 * sla.quantile:g} ms",
        "95 % interval",
        f"over {1e3 * sla.bound_s:g} ms",
        "batch",
        "system waits",
    ]
    if ":" in options.load:
        titles.append("settled")
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row["policy"], *_fields(row, options.duration)[: len(titles)])
    console().print(table)


def _fields(row: dict[str, Any], duration_s: float) -> list[str]:
    """Fields of one row of the printed table.

    A quantile as long as the run belongs to requests that were not answered before its end.
    """
    latency = "too few answers"
    interval = ""
    if row["latency_s"] is not None:
        ends = [
            f"{1e3 * row[name]:.1f}" if row[name] < 0.99 * duration_s else _UNANSWERED
            for name in ("latency_s", "low_s", "high_s")
        ]
        latency = ends[0]
        interval = f"{ends[1]} to {ends[2]}" if ends[1] != _UNANSWERED else _UNANSWERED
    return [
        latency,
        interval,
        f"{100 * row['violations']:.2f} %",
        f"{100 * row['batch_share']:.1f} %",
        f"{1e3 * row['system_worst_s']:.0f} ms",
        "" if row["settled_s"] is None else f"{row['settled_s']:.1f} s",
    ]
