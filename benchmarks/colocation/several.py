"""NGINX and Redis, each with an SLA of its own, beside one batch program under one policy.

NGINX is sent a quarter of the highest rate at which it alone meets its SLA; redis-benchmark keeps
one client of Redis busy. Whether a service keeps its SLA counts in the rounds in which it does so
without batch work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from aferir.colocation.trials.arm import Batch, Loaded, Setup
from aferir.colocation.trials.capacity import highest_rate
from aferir.colocation.trials.load import Times
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.study import serving
from aferir.linux import scratch
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import redis, rounds
from benchmarks.colocation.cells import SLAS
from benchmarks.colocation.databases import DATABASES

PART = "several"
BATCHES = ("xz", "memory")
_SERVICES = ("nginx", "redis")
_SHARE = 0.25
"""Load of NGINX as a share of its highest rate: Redis and its client take up to a CPU, and two CPUs
have to leave some for the batch."""
_THREADS = 2
_TIMES, _QUICK_TIMES = Times(2.0, 8.0), Times(1.0, 4.0)
_ROUNDS, _QUICK_ROUNDS = 5, 1


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure all cells, or those of `--only several.BATCH`, in rounds."""
    cells = rounds.chosen(PART, BATCHES, options.only)
    count = _QUICK_ROUNDS if options.quick else _ROUNDS
    found: dict[str, list[rounds.Round]] = {cell: [] for cell in cells}
    with (
        scratch.folder(mode=0o755) as folder,
        serving("nginx", os.cpu_count() or 1) as web,
        redis.running(folder) as store,
    ):
        setup = _setup(web, store, options, note)
        for number in range(count):
            for place, cell in enumerate(cells):
                done = (number + place / len(cells)) / count
                note(f"nginx at {setup.rate}/s and redis beside {cell}", done)
                batch, seed = Batch(cell, _THREADS), options.seed + number
                one = msgspec.structs.replace(setup, batch=batch, seed=seed)
                found[cell].append(rounds.measured(one))
    return [figure for cell, measured in found.items() for figure in _judged(cell, measured)]


def _setup(web: Running, store: Running, options: BenchOptions, note: Note) -> Setup:
    """Both services with their loads; NGINX's highest rate is found while Redis has none."""
    redis_load, sla = DATABASES["redis"], SLAS["nginx"]
    rate = _SHARE * highest_rate(web, sla, lambda said: note(said, 0.0))
    return Setup(
        web,
        sla,
        round(rate, 3),
        Batch(BATCHES[0], _THREADS),
        _QUICK_TIMES if options.quick else _TIMES,
        more=(Loaded(store, redis_load.sla, redis_load.rate, redis_load.loader),),
    )


def _judged(cell: str, measured: list[rounds.Round]) -> Iterator[Figure]:
    """Figures of one cell: the SLA of each service, and the batch work."""
    for place, name in enumerate(_SERVICES):
        yield rounds.kept(f"{PART}.{cell}.{name}", place, measured)
    yield rounds.batch(f"{PART}.{cell}", measured)
