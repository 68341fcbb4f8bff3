"""Try policies on a real service under a real load, one after another in a drawn order.

The highest load that meets the service level alone is found first. Needs root.

examples:
  aferir colocate measure nginx --load 0.5 --batch xz --threads 4
  aferir colocate measure nginx --arms alone,default,fifo,aferir --measured 10
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.colocation.settings import Latency
    from aferir.colocation.trials.study import Cell

NAME = "measure"
HELP = "policies side by side on a real service"
_REPETITION = "AFERIR_REPETITION"
"""Number of the repetition, which the runner tells: each draws an order and moments of its own."""
_BOUNDS = {
    "load": (0.01, 1.5),
    "step_to": (0.0, 1.5),
    "threads": (1, 256),
    "warm_up": (0.2, 3600.0),
    "measured": (1.0, 3600.0),
    "rate": (0.0, 1e6),
    "seed": (0, 2**31),
    "text_bytes": (2**20, 2**36),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate measure`."""
    add = parser.add_argument
    add("service", choices=("nginx", "memcached", "elasticsearch", "opensearch"))
    add("--load", type=float, default=0.5, metavar="SHARE", help="of the highest (default: 0.5)")
    add("--step-to", type=float, default=0.0, metavar="SHARE", help="from half of the time on")
    add("--rate", type=float, default=0.0, metavar="N", help="the highest; 0: find it (default)")
    add("--text-bytes", type=int, metavar="N", default=64 << 20, help="searched in (64 MiB)")
    add("--batch", default="xz", metavar="NAME", help="batch program (default: xz)")
    add("--threads", type=int, default=4, metavar="N", help="of it (default: 4)")
    add("--sla", default="p95=100ms", metavar="pQ=TIME", help="default: p95=100ms")
    add("--arms", default="", metavar="NAME,…", help="policies (default: all)")
    add("--warm-up", type=float, default=2.0, metavar="S", help="of each arm (default: 2 s)")
    add("--measured", type=float, default=6.0, metavar="S", help="of each arm (default: 6 s)")
    add("--seed", type=int, default=1, help="of order and moments (default: 1)")
    add("--json", action="store_true", help="print one line of JSON")


def execute(options: argparse.Namespace) -> int:
    """Try all arms once and print what they gave."""
    from aferir.colocation import privileges
    from aferir.colocation.trials import study

    for name, (least, most) in _BOUNDS.items():
        if not least <= getattr(options, name) <= most:
            raise UsageError(
                f"--{name.replace('_', '-')} {getattr(options, name)}: not possible",
                remedy=f"from {least:g} to {most:g}",
            )
    cell = _cell(options)
    privileges.check()
    with study.serving(options.service, os.cpu_count() or 1, options.text_bytes) as service:
        tried = study.study(service, cell, _tell)
    if options.json:
        import msgspec

        print(msgspec.json.encode(study.figures(cell, tried)).decode())
        return 0
    print(f"highest load: {tried.rate:.0f} requests a second; batch work relative to it alone")
    for arm in tried.arms:
        found = arm.latency(cell.sla)
        told = _interval(found) if found else "too few answers"
        print(f"{arm.policy:18} {told:28} {tried.share(arm):6.1%}")
    return 0


def _interval(found: Latency) -> str:
    ends = f"{1e3 * found.low_s:.1f} to {1e3 * found.high_s:.1f}"
    return f"{1e3 * found.quantile_s:.1f} ms ({ends})"


def _cell(options: argparse.Namespace) -> Cell:
    from aferir.colocation.policies import POLICIES
    from aferir.colocation.trials.arm import Batch, Times
    from aferir.colocation.trials.study import Cell
    from aferir.config.colocation import parse_sla

    return Cell(
        load=options.load,
        batch=Batch(options.batch, options.threads),
        sla=parse_sla(options.sla),
        arms=tuple(options.arms.split(",")) if options.arms else tuple(POLICIES),
        times=Times(options.warm_up, options.measured),
        step_to=options.step_to,
        rate=options.rate,
        seed=options.seed + int(os.environ.get(_REPETITION, "0")),
    )


def _tell(said: str) -> None:
    print(said, file=sys.stderr, flush=True)
