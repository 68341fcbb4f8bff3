"""Projects the cost of I/O to many more cores by two laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aferir.report.model import IoProjection
from aferir.statistics.scaling import Projection, project

PROJECTED_CORES = 1000
_FEWEST_SIZES = 3


def projection(
    workload: str, environment: str, costs: Mapping[int, Sequence[float]]
) -> IoProjection:
    """Fit both scaling laws to system cycles per operation and project them, if cores suffice."""
    laws: list[Projection | None] = []
    note = ""
    for linear in (False, True):
        if len(costs) < _FEWEST_SIZES:
            laws.append(None)
            note = f"{len(costs)} numbers of cores make no law: {_FEWEST_SIZES} at least"
            continue
        try:
            laws.append(project(costs, PROJECTED_CORES, linear=linear))
        except ValueError as error:
            laws.append(None)
            note = str(error)
    return IoProjection(
        workload=workload,
        environment=environment,
        measured={n: float(np.mean(costs[n])) for n in sorted(costs)},
        usl=laws[0],
        linear=laws[1],
        note=note,
    )
