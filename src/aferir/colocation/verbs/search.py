"""Search parameters of the policy `aferir` for a machine and a service, on simulated time.

Each candidate is tried with the given load, in bursts, with a heavy tail, and in steps. The best
one is compared with the defaults on requests that were not used for the search, and printed as TOML
for `aferir colocate --job` if it is certainly better. Times come from the model: verify the result
on the machine.

examples:
  aferir colocate search --load 0.5 --sla p95=100ms
  aferir colocate search --load 0.6 --need 2 --interference 0.5 --parameters shrink,grow_per_s
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aferir.colocation.verbs import scenario_options
from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.colocation.simulation.search import Compared, Found, Result, Run, Trial
    from aferir.colocation.simulation.trial import Scenario

NAME = "search"
HELP = "parameters of the policy aferir for a service, on simulated time"
_MOST = 4096


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate search`."""
    add = parser.add_argument
    add(
        "--candidates", type=int, default=32, metavar="N", help="number of candidates (default: 32)"
    )
    add(
        "--parameters",
        default="",
        metavar="NAME,…",
        help="parameters to be searched (default: all that affect the model)",
    )
    add("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="at once")
    scenario_options.add_scenario(parser)
    add("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Search for parameters and print the result."""
    from aferir.colocation.simulation import search

    for name, most in (("candidates", _MOST), ("processes", _MOST)):
        if not 1 <= getattr(options, name) <= most:
            raise UsageError(f"--{name}: from 1 to {most}", remedy=f"e.g. --{name} 2")
    scenario = scenario_options.scenario(options)
    names = options.parameters.split(",") if options.parameters else search.SEARCHED
    try:
        tried = search.candidates(options.candidates, names, options.seed)
    except ValueError as error:
        raise UsageError(f"--parameters: {error}", remedy="leave it out") from None
    trials = sum(count * seeds for count, seeds in search.rounds(len(tried)))
    total = trials * len(search.scenarios(scenario))
    with _spread(options.processes, total) as run:
        found = search.search(scenario, tried, options.seed, run)
    if options.json:
        import msgspec

        document = {"simulated": True, "seed": options.seed, "trials": total, **_told(found)}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        _print(scenario, found)
    return 0


@contextmanager
def _spread(processes: int, total: int) -> Iterator[Run]:
    """Run trials in `processes` processes, with a progress bar up to `total`."""
    from rich.progress import Progress

    from aferir.cli.console import console
    from aferir.colocation.simulation.search import carried_out
    from aferir.linux import process

    with (
        Progress(
            console=console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        ) as bar,
        process.workers(processes) as pool,
    ):
        task = bar.add_task("runs of the model", total=total)

        def run(trials: Sequence[Trial]) -> Iterable[Result]:
            for result in pool.map(carried_out, trials):
                bar.advance(task)
                yield result

        yield run


def _told(found: Found) -> dict[str, object]:
    return {
        "parameters": found.parameters,
        "candidate": found.candidate,
        "batch": found.batch,
        "kept_alone": found.kept_alone,
        "kept_by_defaults_alone": found.kept_by_defaults_alone,
        "beside": found.beside,
    }


def _print(scenario: Scenario, found: Found) -> None:
    import msgspec
    from rich.table import Table

    from aferir.cli.console import console
    from aferir.colocation.policies.parameters import Parameters

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("load")
    percent = f"p{100 * scenario.sla.quantile:g} ms"
    for title in (percent, "defaults", "kept", "defaults", "batch", "defaults"):
        table.add_column(title, justify="right")
    for compared in found.beside:
        table.add_row(compared.scenario, *_fields(compared))
    console().print(table)
    interval = found.batch.interval
    print(
        f"batch work {found.batch.estimate or 0.0:.3f} times that of the defaults"
        + (f" ({interval.low:.3f} to {interval.high:.3f})" if interval else "")
        + f"; service level kept where the defaults broke it {found.kept_alone} times of"
        f" {found.batch.n}, the other way round {found.kept_by_defaults_alone}"
    )
    if found.parameters == Parameters():
        print("nothing was found that is better than the defaults for certain")
        return
    print("\n# in a job file of aferir colocate\n[parameters]")
    for name, value in msgspec.to_builtins(found.parameters).items():
        print(f"{name} = {value!r}")


def _fields(compared: Compared) -> Iterator[str]:
    from statistics import fmean, median

    both = (compared.ours, compared.defaults)
    for results in both:
        yield f"{1e3 * median(one.quantile_s for one in results):.1f}"
    for results in both:
        yield f"{sum(one.meets for one in results)} of {len(results)}"
    for results in both:
        yield f"{100 * fmean(one.batch_share for one in results):.1f} %"
