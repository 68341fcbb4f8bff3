"""Read power sources for a while, side by side, and report how far they disagree.

Sources: rapl, hwmon[:CHIP], ipmi, nut:UPS[?nominal=WATTS][@HOST[:PORT]], apcupsd[:HOST[:PORT]],
snmp:OID[*SCALE]@HOST[:PORT] (its community in the variable AFERIR_SNMP_COMMUNITY), model:FILE.
Impossible readings are refused, counted by their reason, and never included in a mean.
Exit code 1 if a source had no valid reading.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aferir.power.base import Source
    from aferir.power.watch import Watched

NAME = "watch"
HELP = "power over a time, several sources side by side"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir power watch`."""
    add_sources(parser)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--every", type=float, default=1.0, help="seconds a reading (default: 1)")
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
    from aferir.cli.console import console, status
    from aferir.power.watch import watch

    if not (0.05 <= options.every <= options.seconds <= 86_400):
        raise UsageError(
            "--seconds and --every: one reading at least, and 20 a second at most",
            remedy="e.g. --seconds 60 --every 1",
        )
    sources = open_sources(options.sources)
    with status(f"watching {', '.join(sources)} for {options.seconds:g} s"):
        found = watch(sources, seconds=options.seconds, every_s=options.every)
    if options.json:
        import json

        print(json.dumps(document(found), indent=2))
    else:
        console().print(table(found))
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

    made = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("source", "mean", "95 % interval", "readings", "step", "accuracy", "whose power"):
        made.add_column(title, justify="left" if title in ("source", "whose power") else "right")
    for one in found:
        mean, described = mean_of(one), one.description
        made.add_row(
            one.name,
            f"{mean.mean_w:.1f} W" if mean else "-",
            f"{mean.low:.1f} to {mean.high:.1f}" if mean else "-",
            str(len(one.power_w)),
            f"{described.resolution_w:.2g} W" if described and described.resolution_w else "-",
            f"{mean.accuracy_w:.2g} W" if mean and mean.accuracy_w else "-",
            described.scope if described else "-",
        )
    return made


def _say_the_rest(found: Sequence[Watched]) -> None:
    from aferir.power.watch import disagreements

    for one in found:
        for why, times in one.refused.items():
            print(f"{one.name}: {times} times refused: {why}")
        if one.description and one.description.assumption:
            print(f"{one.name}: assumed: {one.description.assumption}")
    for pair in disagreements(found):
        print(
            f"{pair.first} says {pair.difference_w:+.1f} W ({100 * pair.relative:+.1f} %) "
            f"beside {pair.second}"
        )
