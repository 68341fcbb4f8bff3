"""Try policies on a real service under a real load, one after another in random order.

First finds the highest load at which the service alone meets its level, or with --load-of cpus the
one that uses the given share of all CPUs. Needs root.

examples:
  aferir colocate measure nginx --load 0.5 --batch xz --threads 4
  aferir colocate measure nginx --command 'parsecmgmt -a run -p ferret -i simsmall'
  aferir colocate measure nginx --arms alone,default,fifo,aferir --measured 10
  aferir colocate measure nginx --more-services 'memcached load=0.3 sla=p95=10ms'
  aferir colocate measure nginx --users 200 --think 0.5 --warm-up 10 --ramp-down 5
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.colocation.program import ColocationParameters
    from aferir.colocation.settings import Latency
    from aferir.colocation.trials.study import Cell

NAME = "measure"
HELP = "policies side by side on a real service"
_REPETITION = "AFERIR_REPETITION"
"""Environment variable with the repetition's number, from which order and request times are
drawn."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate measure`."""
    from aferir.cli.parameters import add_document, add_options, words
    from aferir.colocation.program import ColocationParameters

    parser.add_argument(
        "service", choices=words(ColocationParameters, "service"), help="service that is measured"
    )
    add_options(parser, ColocationParameters, leave=("service",))
    add_document(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def execute(options: argparse.Namespace) -> int:
    """Run all arms once and print their results."""
    from aferir.cli.parameters import read_options
    from aferir.colocation import privileges
    from aferir.colocation.program import ColocationParameters
    from aferir.colocation.trials import results, study
    from aferir.linux import cgroup

    chosen = read_options(ColocationParameters, options, {"service": options.service})
    cell = _cell(chosen)
    privileges.check()
    # Real-time policies take a group with real-time bandwidth (sched-rt-group.rst), which the one
    # that a native environment makes for its program has not.
    cgroup.leave("aferir-", cgroup.layout())
    with contextlib.ExitStack() as stack:
        service, *more = [
            stack.enter_context(study.serving(name, os.cpu_count() or 1, chosen.text_bytes))
            for name in chosen.services
        ]
        tried = study.study(service, cell, _tell, more)
    if options.json:
        import msgspec

        print(msgspec.json.encode(results.figures(cell, tried)).decode())
        return 0
    unit = "users" if chosen.users else "requests a second"
    print(f"a load of 1: {tried.rate:.0f} {unit}; batch work relative to it alone")
    for arm in tried.arms:
        pairs = zip(arm.loads, cell.each, strict=True)
        told = " ".join(f"{_interval(load.latency(sla)):28}" for load, (_, sla) in pairs)
        print(f"{arm.policy:18} {told} {tried.share(arm):6.1%}")
    return 0


def _interval(found: Latency | None) -> str:
    if found is None:
        return "too few answers"
    ends = f"{1e3 * found.low_s:.1f} to {1e3 * found.high_s:.1f}"
    return f"{1e3 * found.quantile_s:.1f} ms ({ends})"


def _cell(chosen: ColocationParameters) -> Cell:
    from aferir.colocation.policies import POLICIES
    from aferir.colocation.trials.arm import Batch
    from aferir.colocation.trials.load import Times
    from aferir.colocation.trials.study import Cell

    return Cell(
        load=chosen.load,
        batch=Batch(chosen.batch, chosen.threads, chosen.command),
        sla=chosen.sla,
        service=chosen.service,
        more=chosen.more_services,
        arms=chosen.arms or tuple(POLICIES),
        times=Times(chosen.warm_up, chosen.measured, chosen.ramp_down),
        load_of=chosen.load_of,
        step_to=chosen.step_to,
        rate=chosen.rate,
        users=chosen.users,
        think_s=chosen.think,
        seed=chosen.seed + int(os.environ.get(_REPETITION, "0")),
    )


def _tell(said: str) -> None:
    print(said, file=sys.stderr, flush=True)
