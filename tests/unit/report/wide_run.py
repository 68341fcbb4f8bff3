"""A made-up run of a dozen environments and sixty programs, with a few things planted in it."""

from __future__ import annotations

import numpy as np

from aferir.model.plan import Cell, Plan
from aferir.model.record import Record, Sample
from benchmarks.report.made_up import plan_of, record_of

REPETITIONS = 8
SLOWER = {("kind-3", "program-7"): 2.5, ("kind-5", "program-9"): 1.5, ("kind-2", "program-11"): 1.3}
"""Everything else takes as long as on the baseline."""
FAILING = ("kind-4", "program-20")
STALLING = "kind-6"
"""One repetition in five takes three times as long: in one group too few to tell."""


def plan(environments: int = 12, programs: int = 60) -> Plan:
    """The first environment is the baseline, `native`."""
    return plan_of(environments, programs, REPETITIONS)


def records(of: Plan) -> list[Record]:
    """Noise of half a percent; of the failing cell, five of eight repetitions fail."""
    rng = np.random.default_rng(1)
    return [_record(rng, cell, k) for k in range(REPETITIONS) for cell in of.cells]


def _record(rng: np.random.Generator, cell: Cell, repetition: int) -> Record:
    where = (cell.environment, cell.group)
    failed = where == FAILING and repetition < 5
    duration = SLOWER.get(where, 1.0) * float(rng.lognormal(0, 0.005))
    if cell.environment == STALLING and rng.random() < 0.2:
        duration *= 3
    return record_of(cell, repetition, (Sample("duration_s", duration, "s"),), failed=failed)
