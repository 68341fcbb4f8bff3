"""PostgreSQL and Redis as services, with load generators of their projects, beside greedy batches.

pgbench sends transactions at a rate; redis-benchmark keeps one client busy. The batch fills memory
or writes to the disk. In each round, the arms of a cell run one after another in random order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from types import MappingProxyType

import msgspec

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Batch, Setup, run
from aferir.colocation.trials.load import Loader, Times
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.study import ALONE, BATCH_ALONE
from aferir.linux import scratch
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import postgresql, redis
from benchmarks.colocation.judge import OURS

PART = "databases"
BATCHES = ("memory", "disk")
_THREADS = 2
_ARMS = (ALONE, BATCH_ALONE, "default", OURS)
_TIMES, _QUICK_TIMES = Times(2.0, 8.0), Times(1.0, 4.0)
_ROUNDS, _QUICK_ROUNDS = 5, 1
_HALF = 0.5
_LEAST_CPUS = 0.1
"""If the service leaves fewer CPUs than this idle, the batch's share of them says nothing."""


class Database(msgspec.Struct, frozen=True):
    """A service with its load generator, its rate (requests per second) and its SLA."""

    start: Callable[[Path], AbstractContextManager[Running]]
    loader: Loader
    rate: float
    sla: Sla


DATABASES: Mapping[str, Database] = MappingProxyType(
    {
        "postgresql": Database(
            postgresql.running, postgresql.pgbench, rate=200.0, sla=Sla(0.95, 0.02)
        ),
        "redis": Database(redis.running, redis.benchmark, rate=1.0, sla=Sla(0.95, 0.005)),
    }
)
"""Databases by name. Their rates leave half of two CPUs or more. redis-benchmark takes no rate; it
only must not be 0, which means no load.
"""


class Round(msgspec.Struct, frozen=True):
    """All arms of one round of a cell, by name."""

    sla: Sla
    arms: Mapping[str, Arm]

    @property
    def counts(self) -> bool:
        """Whether the round counts: the service alone keeps its SLA."""
        return self.arms[ALONE].meets(self.sla)

    @property
    def kept(self) -> bool:
        """Whether the SLA is kept beside the batch."""
        return self.arms[OURS].meets(self.sla)

    @property
    def share(self) -> float | None:
        """Batch work under our policy over what the service leaves; None if that is too little.

        What it leaves is the batch's work without load, times the CPUs that the service alone
        leaves idle over all that the batch could have had without load, but at most that work: a
        batch that waits for the disk leaves CPUs unused itself.
        """
        alone, free = self.arms[ALONE], self.arms[BATCH_ALONE]
        whole = free.batch_cpus + free.idle_cpus
        if alone.idle_cpus < _LEAST_CPUS or free.batch_per_s <= 0:
            return None
        left = min(1.0, alone.idle_cpus / whole)
        return self.arms[OURS].batch_per_s / (free.batch_per_s * left)


def databases(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure all cells, or those of `--only databases.NAME.BATCH`."""
    wanted = [name for name in options.only if name.startswith(f"{PART}.")]
    cells = [
        (name, batch)
        for name in DATABASES
        for batch in BATCHES
        if not wanted or any(f"{PART}.{name}.{batch}.".startswith(f"{one}.") for one in wanted)
    ]
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    found: list[Figure] = []
    for place, (name, batch) in enumerate(cells):
        database = DATABASES[name]
        with scratch.folder(mode=0o755) as folder, database.start(folder) as service:
            measured = []
            for number in range(rounds):
                note(f"{name} beside {batch}", (place + number / rounds) / len(cells))
                setup = Setup(
                    service,
                    database.sla,
                    database.rate,
                    Batch(batch, _THREADS),
                    _QUICK_TIMES if options.quick else _TIMES,
                    options.seed + number,
                    database.loader,
                )
                measured.append(_round(setup))
        found += figures(f"{PART}.{name}.{batch}", measured)
    return found


def _round(setup: Setup) -> Round:
    draw = random.Random(setup.seed)  # noqa: S311 - not cryptography
    arms = {}
    for name in draw.sample(_ARMS, len(_ARMS)):
        if name == BATCH_ALONE:
            arms[name] = run("default", msgspec.structs.replace(setup, rate=0.0))
        else:
            arms[name] = run(name, setup)
    return Round(setup.sla, arms)


def figures(name: str, rounds: Sequence[Round]) -> list[Figure]:
    """Judge the rounds of one cell in which the service alone keeps its SLA."""
    fair = [one for one in rounds if one.counts]
    kept = sum(one.kept for one in fair)
    shares = [share for one in fair if (share := one.share) is not None]
    share = median(shares) if shares else None
    return [
        Figure(
            name=f"{name}.kept",
            value=kept / len(fair) if fair else None,
            unit="of rounds",
            n=len(fair),
            target="= 1, of rounds in which the service alone keeps it",
            holds=kept == len(fair) if fair else None,
            note="; ".join(map(_told, rounds)),
        ),
        Figure(
            name=f"{name}.batch",
            value=share,
            unit="times",
            n=len(shares),
            target=f">= {_HALF:g} of what the service leaves, the median round",
            holds=None if share is None else share >= _HALF,
            note=" ".join(f"{one:.2f}" for one in shares),
        ),
    ]


def _told(one: Round) -> str:
    return ", ".join(
        f"{name} {_quantile(arm, one.sla)}{arm.batch_per_s:.1f}/s"
        f" {arm.batch_cpus:.2f} of {arm.batch_cpus + arm.idle_cpus:.2f} CPUs"
        for name in _ARMS
        for arm in (one.arms[name],)
    )


def _quantile(arm: Arm, sla: Sla) -> str:
    found = arm.latency(sla)
    return f"{1e3 * found.quantile_s:.1f} ms " if found else ""
