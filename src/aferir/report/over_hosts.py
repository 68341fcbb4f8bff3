"""Ratios over hosts if the host is a factor: one for each environment, group and kind of host.

Hosts are of one kind if they have the same processor and number of CPUs; kinds are never pooled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aferir.model.host import kind_of
from aferir.model.plan import environment_family
from aferir.report.model import CellResult
from aferir.statistics.blocks import OverHosts, over_hosts

FACTOR = "environment.host"


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """One ratio to the baseline over the hosts of one kind."""

    environment: str
    emulated: bool
    group: str
    """Name of the group without the host."""
    kind: str
    """Properties that the hosts share, e.g. `EPYC 7763, 64 CPUs`; empty if they are unknown."""
    ratios: dict[str, float]
    """Ratio that each host measured, by host."""
    over: OverHosts


def pooled(
    cells: Sequence[CellResult], hosts: Mapping[str, Any], *, level: float
) -> tuple[Pooled, ...]:
    """Pool ratios over hosts of one kind, if the host is a factor; `hosts` are facts of each."""
    found: dict[tuple[str, str, str], list[CellResult]] = {}
    for cell in cells:
        if FACTOR in cell.factors and cell.ratio is not None and cell.ratio.estimate is not None:
            kind = kind_of(hosts.get(str(cell.factors[FACTOR]), {}))
            key = (environment_family(cell.environment), _group(cell), kind)
            found.setdefault(key, []).append(cell)
    return tuple(_pooled(*key, same, level) for key, same in found.items())


def _pooled(
    family: str, group: str, kind: str, cells: Sequence[CellResult], level: float
) -> Pooled:
    ratios = {
        str(cell.factors[FACTOR]): cell.ratio
        for cell in cells
        if cell.ratio is not None and cell.ratio.estimate is not None
    }
    estimates = {host: one.estimate for host, one in ratios.items() if one.estimate is not None}
    return Pooled(
        environment=family,
        emulated=any(cell.emulated for cell in cells),
        group=group,
        kind=kind,
        ratios=estimates,
        over=over_hosts(
            [math.log(one) for one in estimates.values()],
            [one.log_error for one in ratios.values()],
            level=level,
        ),
    )


def _group(cell: CellResult) -> str:
    """Name of the cell's group without the level of the host."""
    return "/".join(part for part in cell.group.split("/") if not part.startswith(f"{FACTOR}="))
