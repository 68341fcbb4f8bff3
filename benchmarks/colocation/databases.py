"""PostgreSQL and Redis as services, with load generators of their projects, beside greedy batches.

pgbench sends transactions at a rate; redis-benchmark keeps one client busy. The batch fills memory
or writes to the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType

import msgspec

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Batch, Setup
from aferir.colocation.trials.load import Loader, Times
from aferir.colocation.trials.service import Running
from aferir.linux import scratch
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import postgresql, redis, rounds

PART = "databases"
BATCHES = ("memory", "disk")
_THREADS = 2
_TIMES, _QUICK_TIMES = Times(2.0, 8.0), Times(1.0, 4.0)
_ROUNDS, _QUICK_ROUNDS = 5, 1


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


def databases(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure all cells, or those of `--only databases.NAME.BATCH`."""
    every = [f"{name}.{batch}" for name in DATABASES for batch in BATCHES]
    cells = rounds.chosen(PART, every, options.only)
    count = _QUICK_ROUNDS if options.quick else _ROUNDS
    found: list[Figure] = []
    for place, chosen in enumerate(cells):
        name, batch = chosen.split(".")
        database = DATABASES[name]
        with scratch.folder(mode=0o755) as folder, database.start(folder) as service:
            measured = []
            for number in range(count):
                note(f"{name} beside {batch}", (place + number / count) / len(cells))
                setup = Setup(
                    service,
                    database.sla,
                    database.rate,
                    Batch(batch, _THREADS),
                    _QUICK_TIMES if options.quick else _TIMES,
                    options.seed + number,
                    database.loader,
                )
                measured.append(rounds.measured(setup))
        cell = f"{PART}.{chosen}"
        found += [rounds.kept(cell, 0, measured), rounds.batch(cell, measured)]
    return found
