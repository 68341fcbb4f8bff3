"""Measure the time from the request for an instance to the output of its first command.

The time is divided into the parts until the files exist, until the first program runs, until a
command can be run, and until that command has answered. Requests follow one another, start
together (--at-once), or at an interval (--every). Failed requests are counted and reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.environments.base import Environment
    from aferir.environments.interactive import Outcome
    from aferir.model.plan import EnvironmentSpec

NAME = "interactive"
HELP = "measure the time from a request until the first command has answered"
_QUANTILES = (0.5, 0.9, 0.99)
_EXAMPLES = """\
examples:
  aferir interactive --in container --in podman -n 30
  aferir interactive --in podman --in 'gvisor network=host' --at-once 8 -n 80
  aferir interactive --in bubblewrap --every 0.05s -n 100 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir interactive`."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add(
        *("--in", "-e"),
        dest="environments",
        action="append",
        default=[],
        metavar="SPEC",
        help="an environment as in `aferir measure`, with one CPU unless it says more; several "
        "times (default: container, podman and gvisor where they are here)",
    )
    add("-n", dest="requests", type=int, default=20, metavar="N", help="requests (default: 20)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--at-once", type=int, metavar="N", help="number of requests in a burst")
    shape.add_argument("--every", metavar="TIME", help="time between the starts of two requests")
    add(
        "--cold",
        action="store_true",
        help="evict the image's files from the page cache before each request",
    )
    add("--json", action="store_true", help="print every request for a program to read")


def execute(options: argparse.Namespace) -> int:
    """Make all requests of each environment; returns 1 if one of them failed."""
    from aferir import registry
    from aferir.cli.console import note, status

    found: dict[str, Outcome] = {}
    for spec in _specifications(options.environments):
        environment = registry.by_kind(spec.kind, note)
        with status(f"{options.requests} requests for {spec.name}"):
            environment.prepare()
            found[spec.name] = _asked(environment, spec, options)
        if not options.json:
            _print(spec.name, found[spec.name])
    if options.json:
        _print_json(found)
    return 1 if any(outcome.failures for outcome in found.values()) else 0


def _specifications(written: Sequence[str]) -> list[EnvironmentSpec]:
    from aferir import machine, registry
    from aferir.config.environments import read_table, specification
    from aferir.config.problems import Problems
    from aferir.config.shorthand import environment_tables, usual

    kinds, problems = registry.kinds(), Problems()
    lines = written or [name for name in usual(kinds) if name != "native"]
    specs = []
    for number, table in enumerate(environment_tables(lines, kinds), 1):
        path = f"environment {number}"
        known = read_table({"cpus": 1, **table}, path, kinds, problems)
        if known is None:
            continue
        host = machine.host_limits()
        spec = specification(known, kinds=kinds, host=host, problems=problems)
        if spec is not None:
            specs.append(spec)
    if problems.found:
        raise problems.error("the command line")
    return specs


def _asked(environment: Environment, spec: EnvironmentSpec, options: argparse.Namespace) -> Outcome:
    from aferir.environments import interactive
    from aferir.image import userland
    from aferir.linux import page_cache
    from aferir.model.units import parse_duration

    def forget() -> None:
        if options.cold and (image := userland.find(userland.host_recipe(spec.packages))):
            page_cache.evict(image.folder)

    if options.at_once is None and options.every is None:
        return interactive.sequential(environment, spec, options.requests, forget)
    apart_s = 0.0 if options.every is None else parse_duration(options.every)
    size = options.at_once or options.requests
    outcomes = []
    for _ in range(max(1, round(options.requests / size))):
        forget()
        outcomes.append(interactive.together(environment, spec, size, apart_s))
    return interactive.Outcome(
        tuple(one for outcome in outcomes for one in outcome.ledgers),
        tuple(one for outcome in outcomes for one in outcome.failures),
    )


def _print_json(found: dict[str, Outcome]) -> None:
    import msgspec

    print(msgspec.json.encode(found).decode())


def _print(name: str, outcome: Outcome) -> None:
    """Print quantiles of the durations, one row for each part."""
    from collections import Counter

    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console
    from aferir.environments.interactive import PARTS
    from aferir.statistics.intervals import quantile_interval

    count = len(outcome.ledgers)
    title = f"{name}: {count} requests answered, {len(outcome.failures)} failed"
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("", *(f"{quantile:.0%}, ms" for quantile in _QUANTILES)):
        table.add_column(head, justify="right" if head else "left")
    for part in (*PARTS, "total_s", "released_s"):
        values = np.array([getattr(ledger, part) * 1e3 for ledger in outcome.ledgers])
        cells = []
        for quantile in _QUANTILES if count else ():
            ends = quantile_interval(values, quantile, 0.95)
            told = "" if ends is None else f" [{ends[0]:.1f}, {ends[1]:.1f}]"
            cells.append(f"{np.quantile(values, quantile):.1f}{told}")
        table.add_row(part.removesuffix("_s"), *(escape(cell) for cell in cells))
    console().print(escape(title), style="italic", soft_wrap=True)
    if count:
        console().print(table)
    for failure, times in Counter(outcome.failures).items():
        often = "" if times == 1 else f", {times} times"
        console().print(f"failed{often}: {escape(failure)}")
