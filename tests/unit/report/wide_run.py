"""A made-up run of a dozen environments and sixty programs, with a few things planted in it."""

from __future__ import annotations

import numpy as np

from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.record import Failure, Record, Sample

REPETITIONS = 8
SLOWER = {("kind-3", "program-7"): 2.5, ("kind-5", "program-9"): 1.5, ("kind-2", "program-11"): 1.3}
"""Everything else takes as long as on the baseline."""
FAILING = ("kind-4", "program-20")
STALLING = "kind-6"
"""One repetition in five takes three times as long: in one group too few to tell."""
FAILURE = Failure("time-limit", "it did not end within 60 s", "raise the limit")


def plan(environments: int = 12, programs: int = 60) -> Plan:
    """The first environment is the baseline, `native`."""
    names = ["native", *(f"kind-{k}" for k in range(1, environments))]
    return Plan(
        name="wide",
        title="Everything beside everything",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=REPETITIONS, maximum=REPETITIONS, emulated=3),
        time_limit_s=600,
        environments=tuple(
            EnvironmentSpec(
                name=name,
                kind="native" if name == "native" else "container",
                cpus=1,
                memory_bytes=2**30,
            )
            for name in names
        ),
        cells=tuple(
            Cell(
                id=f"{name}/program-{k}",
                group=f"program-{k}",
                environment=name,
                workload=WorkloadSpec(
                    name=f"program-{k}", program="npb", parameters={}, time_limit_s=60
                ),
            )
            for k in range(programs)
            for name in names
        ),
    )


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
    return Record(
        cell=cell.id,
        group=cell.group,
        environment=cell.environment,
        workload=cell.workload.name,
        repetition=repetition,
        started_unix_ns=repetition,
        samples=() if failed else (Sample("duration_s", duration, "s"),),
        failure=FAILURE if failed else None,
    )
