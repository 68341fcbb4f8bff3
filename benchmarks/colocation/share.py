"""Measure the batch's share of CPUs beside PostgreSQL, with and without other work on the machine.

The service is far below its SLA: it needs a few percent of the machine, so the batch could have
nearly all that the other work leaves, or a share of its own beside it.
docs/decisions/batch-share-beside-others.md says why. Arms run in turns, in a new order each round.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from statistics import median
from types import MappingProxyType

import msgspec

from aferir.colocation.settings import Sla
from aferir.colocation.trials import programs
from aferir.colocation.trials.arm import Arm, Batch, Setup, run
from aferir.colocation.trials.load import Times
from aferir.errors import ProgramError
from aferir.linux import process, scratch
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import postgresql
from benchmarks.colocation.judge import OURS

_QUANTILE, _LEAST_BOUND_S = 0.95, 0.002
"""Service level of the report that this bench repeats: p95 of 2 ms."""
_FAR = 10
"""Factor from the measured quantile to the SLA's bound. The quantile is measured beside other work
and without a share for the batch. The policy counts less than a fifth of the SLA as far below it,
and the machine may become slower.
"""
_RATE = 600.0
"""Transactions a second, as in that report: a few percent of two processors."""
_BATCH = Batch("xz", 4)
_TIMES, _QUICK_TIMES = Times(3.0, 12.0), Times(2.0, 6.0)
_ROUNDS, _QUICK_ROUNDS = 5, 1
_ARMS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "default": ("default", ()),
        "cpu-idle": ("cpu-idle", ()),
        OURS: (OURS, ()),
        f"{OURS}-0": (OURS, ("--batch-share", "0")),
        f"{OURS}-4": (OURS, ("--batch-share", "4")),
    }
)
"""Policy and further options of each arm."""


@contextmanager
def _others() -> Iterator[None]:
    """Run a busy loop on each CPU, all in a session apart, like another user's programs."""
    count = os.cpu_count() or 1
    with scratch.folder() as folder:
        child = process.start([*process.ALONE, *programs.loop("xz", folder, count)])
        try:
            yield
        finally:
            process.end(child)


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure all arms with and without other CPU work, in rounds of random order."""
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    draw = random.Random(options.seed)  # noqa: S311 - not cryptography
    cells = [(name, beside) for beside in (False, True) for name in _ARMS]
    found: dict[tuple[str, bool], list[Arm]] = {cell: [] for cell in cells}
    with scratch.folder(mode=0o755) as folder, postgresql.running(folder) as service:
        note("the bound of the SLA", 0.0)
        setup = Setup(
            service=service,
            sla=Sla(_QUANTILE, _LEAST_BOUND_S),
            rate=_RATE,
            batch=_BATCH,
            times=_QUICK_TIMES if options.quick else _TIMES,
            seed=options.seed,
            loader=postgresql.pgbench,
        )
        setup = msgspec.structs.replace(setup, sla=_far(setup))
        for number in range(rounds):
            for done, cell in enumerate(draw.sample(cells, len(cells))):
                note(cell[0], (number + done / len(cells)) / rounds)
                found[cell].append(_arm(*cell, setup))
    return [one for cell, arms in found.items() for one in _judged(*cell, arms, setup.sla)]


def _far(setup: Setup) -> Sla:
    """Return an SLA whose bound is far above the quantile measured beside other work."""
    quantile = _arm("cpu-idle", True, setup).latency(setup.sla)
    if quantile is None:
        raise ProgramError("PostgreSQL answered too rarely", remedy="see what else runs here")
    return Sla(_QUANTILE, max(_LEAST_BOUND_S, round(_FAR * quantile.quantile_s, 3)))


def _arm(name: str, beside: bool, setup: Setup) -> Arm:
    policy, more = _ARMS[name]
    with _others() if beside else nullcontext():
        return run(policy, msgspec.structs.replace(setup, options=more))


def _judged(name: str, beside: bool, arms: Sequence[Arm], sla: Sla) -> list[Figure]:
    """Judge the quantile of one arm, and report the CPUs that the batch had."""
    ours, where = name.startswith(OURS), "beside" if beside else "quiet"
    kept = sum(arm.meets(sla) for arm in arms)
    quantiles = [found.quantile_s for arm in arms if (found := arm.latency(sla))]
    work = [arm.batch_cpus for arm in arms]
    return [
        Figure(
            name=f"share.{where}.{name}.p95",
            value=median(quantiles) if quantiles else None,
            unit="s",
            n=len(quantiles),
            target=f"<= {sla.bound_s:g} in every run" if ours else "",
            holds=kept == len(arms) if ours else None,
            note=f"kept in {kept}; ms: {_listed(1e3, quantiles)}",
        ),
        Figure(
            name=f"share.{where}.{name}.batch",
            value=median(work),
            unit="CPUs",
            n=len(work),
            note=f"of {arms[0].cpus} at a load of {os.getloadavg()[2]:.0f}: {_listed(1, work)}",
        ),
    ]


def _listed(factor: float, values: Sequence[float]) -> str:
    return ", ".join(f"{factor * value:.2f}" for value in values)
