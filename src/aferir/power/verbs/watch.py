"""Read power sources for a while, side by side, and report how far they disagree.

Sources: rapl, hwmon[:CHIP], ipmi, nut:UPS[?nominal=WATTS][@HOST[:PORT]], apcupsd[:HOST[:PORT]],
snmp:OID[*SCALE]@HOST[:PORT] (its community in the variable AFERIR_SNMP_COMMUNITY), model:FILE.
Impossible readings are refused, counted by their reason, and never included in a mean.
The use of the CPUs between two readings is logged beside the watts. `--load` keeps all CPUs busy
by loops or by FFmpeg that transcodes. Exit code 1 if a source had no valid reading.

example, the 24,020 readings of Dutra 2015, 5.5, busy and idle:
  aferir power watch nut:ups --seconds 12010 --every 0.5 --load ffmpeg --json > busy.json
  aferir power watch nut:ups --seconds 12010 --every 0.5 --json > idle.json
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aferir.power.base import Source
    from aferir.power.watch import Mean, Watched

NAME = "watch"
HELP = "power over a time, several sources side by side"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir power watch`."""
    from aferir.power.load import LOADS

    add_sources(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        help="seconds for which the sources are read (default: 10)",
    )
    parser.add_argument(
        "--every", type=float, default=1.0, help="seconds between two readings (default: 1)"
    )
    parser.add_argument("--load", choices=LOADS, help="keep all CPUs busy during the readings")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Declare the sources."""
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="e.g. rapl or nut:ups")


def open_sources(names: Sequence[str]) -> dict[str, Source]:
    """The sources by their names, as they were written. Errors: UsageError."""
    from aferir.power.sources import source

    return {name: source(name, community=community()) for name in names}


def community() -> str:
    """SNMP's community, which is its password."""
    return os.environ.get("AFERIR_SNMP_COMMUNITY", "public")


def execute(options: argparse.Namespace) -> int:
    """Read the sources, and print the results."""
    import contextlib

    from aferir.cli.console import console, status
    from aferir.power.load import busy
    from aferir.power.watch import CpuUse, watch

    if not (0.05 <= options.every <= options.seconds <= 86_400):
        raise UsageError(
            "--seconds and --every: one reading at least, and 20 a second at most",
            remedy="e.g. --seconds 60 --every 1",
        )
    sources = open_sources(options.sources)
    cpus = sorted(os.sched_getaffinity(0))
    load = busy(options.load, cpus) if options.load else contextlib.nullcontext()
    used = CpuUse()
    with load, status(f"watching {', '.join(sources)} for {options.seconds:g} s"):
        found = watch(sources, seconds=options.seconds, every_s=options.every, each_look=used.look)
    if options.json:
        import msgspec

        made = msgspec.json.encode({**document(found), "cpu": used.document()})  # inf is null
        print(msgspec.json.format(made).decode())
    else:
        console().print(table(found))
        print(f"CPUs: {100 * used.mean:.1f} % used")
        _say_the_rest(found)
    return 0 if all(one.power_w for one in found) else 1


def document(found: Sequence[Watched]) -> Mapping[str, object]:
    """Results as values for JSON."""
    import msgspec

    from aferir.power.watch import disagreements, mean_of

    return {
        "sources": [
            {**msgspec.to_builtins(one), "mean": msgspec.to_builtins(mean_of(one))} for one in found
        ],
        "disagreements": msgspec.to_builtins(disagreements(found)),
    }


def table(found: Sequence[Watched]) -> object:
    """Results as a table for people."""
    from rich.table import Table

    from aferir.power.watch import mean_of
    from aferir.report.formatting import NOTHING, quantity

    made = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("source", "mean", "95 % interval", "readings", "step", "accuracy", "whose power"):
        made.add_column(title, justify="left" if title in ("source", "whose power") else "right")
    for one in found:
        mean, described = mean_of(one), one.description
        made.add_row(
            one.name,
            f"{mean.mean_w:.1f} W" if mean else NOTHING,
            _interval(mean),
            str(len(one.power_w)),
            quantity(described.resolution_w or None, "W") if described else NOTHING,
            quantity(mean.accuracy_w or None, "W") if mean else NOTHING,
            described.scope if described else NOTHING,
        )
    return made


def _interval(mean: Mean | None) -> str:
    from aferir.report.formatting import NOTHING

    if mean is None:
        return NOTHING
    if mean.low is None or mean.high is None:
        return "too few"
    return f"{mean.low:.1f} to {mean.high:.1f}"


def _say_the_rest(found: Sequence[Watched]) -> None:
    from aferir.power.watch import disagreements, mean_of

    for one in found:
        for why, times in one.refused.items():
            print(f"{one.name}: refused {'once' if times == 1 else f'{times} times'}: {why}")
        mean = mean_of(one)
        if mean is not None and mean.updates < mean.n:
            print(f"{one.name}: its {mean.n} readings are of {mean.updates} measurements")
        if one.description and one.description.assumption:
            print(f"{one.name}: assumed: {one.description.assumption}")
    for pair in disagreements(found):
        print(
            f"{pair.first} says {pair.difference_w:+.1f} W ({100 * pair.relative:+.1f} %) "
            f"beside {pair.second}"
        )
