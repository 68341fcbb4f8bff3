"""Options of `elastic simulate` on hosts that hibernate, and the figures of their energy."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.hibernation import Hibernation, HostUse

VARIED = ("hibernate-after", "wake", "per-host")
COUNTS = ("per-host",)
SHOWN = {"wakes": "hosts woken", "asleep_share": "hosts asleep", "hosts_kwh": "hosts' kWh"}
"""Figures that `row` returns, with their names in the table."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--hibernate-after",
        type=float,
        metavar="S",
        help="time without an instance after which one of --hosts hibernates; inf: never",
    )
    add(
        "--wake",
        type=float,
        default=30.0,
        metavar="S",
        help="time that a hibernating host takes to wake (default: 30 s)",
    )
    add("--per-host", type=int, default=4, metavar="N", help="instances of a host (default: 4)")
    add("--watts", metavar="AWAKE,ASLEEP", help="power of a host in W, for the energy of all hosts")


def read(given: Mapping[str, Any]) -> Hibernation | None:
    """The hosts that the options describe; None without `--hibernate-after`.

    Errors: UsageError without `--hosts`, ValueError for an impossible value.
    """
    from aferir.elastic.hibernation import Hibernation

    if given["hibernate_after"] is None:
        return None
    if given["hosts"] is None:
        raise UsageError("--hibernate-after: of how many hosts?", remedy="--hosts 8")
    return Hibernation(
        hosts=given["hosts"],
        per_host=given["per_host"],
        after_s=given["hibernate_after"],
        wake_s=given["wake"],
    )


def row(used: Sequence[HostUse | None], watts: tuple[float, float] | None) -> dict[str, float]:
    """Hosts woken, share of time asleep and energy, as means over runs; {} without hibernation.

    `watts`: power in W of a host that is awake, and of one asleep.
    """
    from statistics import mean

    uses = [use for use in used if use is not None]
    if not uses:
        return {}
    whole_s = sum(use.awake_s + use.asleep_s for use in uses)
    found = {
        "wakes": float(mean(use.wakes for use in uses)),
        "asleep_share": sum(use.asleep_s for use in uses) / whole_s if whole_s else 0.0,
    }
    if watts is not None:
        found["hosts_kwh"] = mean(use.energy_j(*watts) for use in uses) / 3.6e6
    return found
