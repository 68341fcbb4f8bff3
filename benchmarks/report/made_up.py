"""Make synthetic runs of any width and length, in folders like those of real ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.provenance import Provenance
from aferir.model.record import Failure, Record, Sample
from aferir.store import create_run
from aferir.store.lines import encode_line
from aferir.store.run import COMPLETE, RECORDS, Ending

_STATES = {"user": 90.0, "system": 6.0, "idle": 3.0, "steal": 1.0}
FAILURE = Failure("time-limit", "it did not end within 60 s", "raise the limit")


def write_run(runs: Path, *, environments: int, programs: int, repetitions: int) -> Path:
    """Write a run and return its folder; its records are written at once, not each durably."""
    plan = plan_of(environments, programs, repetitions)
    with create_run(runs, plan, b"", Provenance(version="0.0.0")) as writer:
        folder = writer.folder
    lines = [encode_line(one) for one in _records(plan, environments, programs, repetitions)]
    (folder / RECORDS).write_bytes(b"".join(lines))
    ending = Ending(ended_unix_ns=0, records=len(lines))
    (folder / COMPLETE).write_bytes(msgspec.json.encode(ending))
    return folder


def _records(plan: Plan, environments: int, programs: int, repetitions: int) -> Iterator[Record]:
    """Records of a run.

    In the last environment, one repetition in ten fails and one in five takes three times as long;
    the others cost up to a tenth more than the first.
    """
    rng = np.random.default_rng(1)
    base = rng.lognormal(0, 1, programs)
    cost = 1 + rng.choice([0.0, 0.02, 0.1], (environments, programs))
    cost[0] = 1.0
    for repetition in range(repetitions):
        for place, cell in enumerate(plan.cells):
            program, environment = divmod(place, environments)
            duration = base[program] * cost[environment, program] * rng.lognormal(0, 0.01)
            last = environment == environments - 1
            if last and rng.random() < 0.2:
                duration *= 3
            failed = last and rng.random() < 0.1
            yield _record(rng, cell, repetition, float(duration), failed)


def plan_of(environments: int, programs: int, repetitions: int) -> Plan:
    """Plan every program in every environment; the first, `native`, is the baseline."""
    names = ["native", *(f"kind-{k}" for k in range(1, environments))]
    return Plan(
        name="made-up",
        title="A made-up run",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=repetitions, maximum=repetitions, emulated=1),
        time_limit_s=3600,
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


def _record(
    rng: np.random.Generator, cell: Cell, repetition: int, duration: float, failed: bool
) -> Record:
    shares = np.array(list(_STATES.values())) * rng.lognormal(0, 0.1, len(_STATES))
    states = zip(_STATES, (100 * shares / shares.sum()).tolist(), strict=True)
    samples = (
        Sample("duration_s", duration, "s"),
        Sample("throughput_mops", 60 / duration, "Mop/s"),
        *(Sample(f"cpu_{state}_percent", share, "%", "host") for state, share in states),
        Sample("context_switches", float(rng.integers(200, 900)), "count", "host"),
        Sample("load_of_others_cpus", float(rng.uniform(0, 0.3)), "CPUs", "host"),
        Sample("io_read_bytes", float(rng.integers(0, 2_000_000)), "B", "host"),
        Sample("core_frequency_hz_before", float(rng.normal(3.8e9, 2e7)), "Hz", "host"),
    )
    return record_of(cell, repetition, samples, failed=failed)


def record_of(cell: Cell, repetition: int, samples: tuple[Sample, ...], *, failed: bool) -> Record:
    """Make the record of one repetition, which has no samples if it failed."""
    return Record(
        cell=cell.id,
        group=cell.group,
        environment=cell.environment,
        workload=cell.workload.name,
        repetition=repetition,
        started_unix_ns=repetition,
        samples=() if failed else samples,
        failure=FAILURE if failed else None,
    )
