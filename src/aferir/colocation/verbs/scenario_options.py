"""Options of `colocate simulate` and `colocate search`: machine, service and batch."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.colocation.simulation.trial import Scenario


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a scenario."""
    add = parser.add_argument
    add(
        "--load",
        default="0.25",
        metavar="SHARE|S:SHARE,…",
        help="share of all CPUs that the service needs, or steps of it (default: 0.25)",
    )
    add(
        "--sla",
        default="p95=200ms",
        metavar="pN=TIME",
        help="quantile and its bound (default: p95=200ms)",
    )
    add("--cpus", type=int, default=2, metavar="N", help="number of CPUs (default: 2)")
    add(
        "--service-threads",
        type=int,
        default=4,
        metavar="N",
        help="threads of the service (default: 4)",
    )
    add(
        "--batch-threads",
        type=int,
        default=4,
        metavar="N",
        help="threads of the batch (default: 4)",
    )
    add(
        "--other-threads",
        type=int,
        default=0,
        metavar="N",
        help="busy threads of other programs (default: 0)",
    )
    _requests(parser)
    add("--duration", type=float, default=20.0, metavar="S", help="simulated seconds (default: 20)")
    add("--seed", type=int, default=1, help="seed of all random numbers (default: 1)")


def _requests(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--need",
        type=float,
        default=10.0,
        metavar="MS",
        help="mean CPU time of a request in ms (default: 10)",
    )
    add(
        "--needs",
        choices=("constant", "exponential", "lognormal", "pareto"),
        default="lognormal",
        help="distribution of the CPU time of requests (default: lognormal)",
    )
    add(
        "--arrivals",
        choices=("poisson", "bursts"),
        default="poisson",
        help="whether requests arrive singly or in bursts (default: poisson)",
    )
    add(
        "--interference",
        type=float,
        default=0.0,
        metavar="X",
        help="how much longer a request takes beside batch work, through caches and memory",
    )


def scenario(options: argparse.Namespace) -> Scenario:
    """The scenario that the options describe. Errors: UsageError if one is out of range."""
    from aferir.colocation.simulation.load import Load
    from aferir.colocation.simulation.machine import Machine
    from aferir.colocation.simulation.trial import Scenario
    from aferir.config.colocation import parse_sla

    if options.seed < 0:
        raise UsageError("--seed: not negative", remedy="e.g. --seed 1")
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
            sla=parse_sla(options.sla),
            service_threads=options.service_threads,
            batch_threads=options.batch_threads,
            other_threads=options.other_threads,
            duration_s=options.duration,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see --help") from None


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
