"""Simulate policies of co-location: tail latency of the service against work of the batch.

Requests come in an open loop and need processor time, batch threads always want some, and the
processors follow Linux' scheduling classes. Times come from the model, not from a machine: compare
policies by them, and nothing else. `--load` is the share of the processors that the service needs,
or SECOND:SHARE steps.

examples:
  aferir colocate simulate
  aferir colocate simulate --load 0:0.25,10:0.75 --policies default,idle,fifo,aferir
  aferir colocate simulate --load 0.5 --needs pareto --arrivals bursts --interference 1
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.colocation.settings import Sla
    from aferir.colocation.simulation.trial import Outcome, Scenario

NAME = "simulate"
HELP = "policies side by side on simulated time"

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate simulate`."""
    add = parser.add_argument
    add("--policies", metavar="NAME,…", help="default: all of them")
    add("--load", default="0.25", metavar="SHARE|S:SHARE,…", help="default: 0.25")
    add("--sla", default="p95=200ms", metavar="pN=TIME", help="default: p95=200ms")
    add("--cpus", type=int, default=2, metavar="N", help="default: 2")
    add("--service-threads", type=int, default=4, metavar="N", help="default: 4")
    add("--batch-threads", type=int, default=4, metavar="N", help="default: 4")
    add("--other-threads", type=int, default=0, metavar="N", help="busy ones of others")
    add("--need", type=float, default=10.0, metavar="MS", help="of a request, mean (default: 10)")
    add("--needs", choices=("constant", "exponential", "lognormal", "pareto"), default="lognormal")
    add("--arrivals", choices=("poisson", "bursts"), default="poisson")
    add(
        "--interference",
        type=float,
        default=0.0,
        metavar="X",
        help="how much longer a request takes beside batch work, through caches and memory",
    )
    add("--duration", type=float, default=20.0, metavar="S", help="default: 20 s")
    add("--seed", type=int, default=1, help="of everything drawn (default: 1)")
    add("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Simulate each policy on the same requests, and print."""
    from aferir.cli.console import status
    from aferir.colocation.policies import POLICIES
    from aferir.colocation.simulation.trial import run

    names = options.policies.split(",") if options.policies else list(POLICIES)
    for name in names:
        if name not in POLICIES:
            raise UsageError(
                f"--policies: there is no {name!r}", remedy=f"one of {', '.join(POLICIES)}"
            )
    if options.seed < 0:
        raise UsageError("--seed: not negative", remedy="e.g. --seed 1")
    scenario = _scenario(options)
    rows = []
    for name in names:
        with status(name):
            outcome = run(scenario, POLICIES[name](), options.seed)
        rows.append({"policy": name, **_row(scenario, outcome)})
    _show(options, scenario.sla, rows)
    return 0


def _scenario(options: argparse.Namespace) -> Scenario:
    from aferir.colocation.simulation.load import Load
    from aferir.colocation.simulation.machine import Machine
    from aferir.colocation.simulation.trial import Scenario

    if not (math.isfinite(options.interference) and options.interference >= 0):
        raise UsageError("--interference: not negative", remedy="e.g. 0.5: half as long again")
    try:
        return Scenario(
            machine=Machine(cpus=options.cpus, interference=options.interference),
            load=Load(
                steps=_steps(options.load),
                mean_need_s=options.need / 1e3,
                needs=options.needs,
                arrivals=options.arrivals,
            ),
            sla=_sla(options.sla),
            service_threads=options.service_threads,
            batch_threads=options.batch_threads,
            other_threads=options.other_threads,
            duration_s=options.duration,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir colocate simulate --help") from None


def _steps(text: str) -> tuple[tuple[float, float], ...]:
    steps = []
    try:
        for part in text.split(","):
            second, _, share = part.rpartition(":")
            steps.append((float(second or 0), float(share)))
    except ValueError:
        raise UsageError(
            f"--load {text}: no shares of the processors", remedy="e.g. 0.5 or 0:0.25,10:0.75"
        ) from None
    return tuple(steps)


def _sla(text: str) -> Sla:
    """`p95=200ms`. Errors: UsageError for anything else."""
    from aferir.colocation.settings import Sla

    percent, _, time = text.partition("=")
    unit = next((unit for unit in _UNITS if time.endswith(unit)), "")
    try:
        quantile = float(percent.removeprefix("p")) / 100
        bound_s = float(time.removesuffix(unit)) * _UNITS[unit]
    except (ValueError, KeyError):
        quantile = bound_s = math.nan
    if not (percent.startswith("p") and 0 < quantile < 1 and 0 < bound_s < math.inf):
        raise UsageError(f"--sla {text}: no quantile and time", remedy="e.g. p95=200ms")
    return Sla(quantile=quantile, bound_s=bound_s)


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
        "settled",
    ]
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row["policy"], *_fields(row, options.duration))
    console().print(table)


def _fields(row: dict[str, Any], duration_s: float) -> list[str]:
    """Of one row; a quantile as long as the run is one of requests that were never answered."""
    latency = "too few answers"
    interval = ""
    if row["latency_s"] is not None:
        ends = [
            f"{1e3 * row[name]:.1f}" if row[name] < 0.99 * duration_s else "never"
            for name in ("latency_s", "low_s", "high_s")
        ]
        latency, interval = ends[0], f"{ends[1]} to {ends[2]}"
    return [
        latency,
        interval,
        f"{100 * row['violations']:.2f} %",
        f"{100 * row['batch_share']:.1f} %",
        f"{1e3 * row['system_worst_s']:.0f} ms",
        "" if row["settled_s"] is None else f"{row['settled_s']:.1f} s",
    ]
