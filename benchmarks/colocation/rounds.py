"""Rounds of arms on services with an SLA each, and how their SLAs and the batch work are judged.

In each round all arms of a cell run one after another in random order: the services without batch
work, the batch program without load, and both together with and without our policy.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Setup, run
from aferir.colocation.trials.study import ALONE, BATCH_ALONE
from aferir.errors import UsageError
from aferir.model.bench import Figure
from benchmarks.colocation.judge import OURS

_ARMS = (ALONE, BATCH_ALONE, "default", OURS)
_HALF = 0.5
_LEAST_CPUS = 0.1
"""If the services leave fewer CPUs than this idle, the batch's share of them says nothing."""


class Round(msgspec.Struct, frozen=True):
    """All arms of one round of a cell, by name."""

    slas: tuple[Sla, ...]
    """SLA of each service, in the order of `Arm.loads`."""
    arms: Mapping[str, Arm]

    def counts(self, place: int) -> bool:
        """Whether the round counts for a service: without batch work it keeps its SLA."""
        return self._keeps(ALONE, place)

    def kept(self, place: int) -> bool:
        """Whether a service keeps its SLA beside the batch under our policy."""
        return self._keeps(OURS, place)

    def _keeps(self, arm: str, place: int) -> bool:
        return self.arms[arm].loads[place].meets(self.slas[place])

    @property
    def fair(self) -> bool:
        """Whether each service keeps its SLA without batch work."""
        return all(self.counts(place) for place in range(len(self.slas)))

    @property
    def share(self) -> float | None:
        """Batch work under our policy over what the services leave; None if that is too little.

        What they leave is the batch's work without load, times the CPUs that the services alone
        leave idle over all that the batch could have had without load, but at most that work: a
        batch that waits for the disk leaves CPUs unused itself.
        """
        alone, free = self.arms[ALONE], self.arms[BATCH_ALONE]
        whole = free.batch_cpus + free.idle_cpus
        if alone.idle_cpus < _LEAST_CPUS or free.batch_per_s <= 0:
            return None
        left = min(1.0, alone.idle_cpus / whole)
        return self.arms[OURS].batch_per_s / (free.batch_per_s * left)


def chosen(part: str, cells: Sequence[str], only: Sequence[str]) -> list[str]:
    """Cells that `--only PART.CELL`, or the beginning of it, names; all if it names none.

    Errors: UsageError if a name of this part is that of no cell.
    """
    wanted = [name for name in only if name.startswith(f"{part}.")]
    found = {
        name: [cell for cell in cells if f"{part}.{cell}.".startswith(f"{name}.")]
        for name in wanted
    }
    for name, those in found.items():
        if not those:
            raise UsageError(
                f"--only {name}: there is no such cell",
                remedy=f"one of: {', '.join(f'{part}.{cell}' for cell in cells)}",
            )
    return [cell for cell in cells if not wanted or any(cell in one for one in found.values())]


def measured(setup: Setup) -> Round:
    """Run the arms of one round. Errors: those of `arm.run`."""
    draw = random.Random(setup.seed)  # noqa: S311 - not cryptography
    arms = {
        name: run("default", setup.without_load()) if name == BATCH_ALONE else run(name, setup)
        for name in draw.sample(_ARMS, len(_ARMS))
    }
    return Round(tuple(one.sla for one in setup.each), arms)


def kept(name: str, place: int, rounds: Sequence[Round]) -> Figure:
    """Judge the SLA of one service in the rounds in which it keeps it without batch work."""
    fair = [one for one in rounds if one.counts(place)]
    good = sum(one.kept(place) for one in fair)
    return Figure(
        name=f"{name}.kept",
        value=good / len(fair) if fair else None,
        unit="of rounds",
        n=len(fair),
        target="= 1, of rounds in which the service alone keeps it",
        holds=good == len(fair) if fair else None,
        note="; ".join(map(_told, rounds)),
    )


def batch(name: str, rounds: Sequence[Round]) -> Figure:
    """Judge the batch work in the rounds in which every service alone keeps its SLA."""
    shares = [share for one in rounds if one.fair and (share := one.share) is not None]
    share = median(shares) if shares else None
    return Figure(
        name=f"{name}.batch",
        value=share,
        unit="times",
        n=len(shares),
        target=f">= {_HALF:g} of what is left, the median round",
        holds=None if share is None else share >= _HALF,
        note=" ".join(f"{one:.2f}" for one in shares),
    )


def _told(one: Round) -> str:
    return ", ".join(
        f"{name} {_quantiles(arm, one.slas)}{arm.batch_per_s:.1f}/s"
        f" {arm.batch_cpus:.2f} of {arm.batch_cpus + arm.idle_cpus:.2f} CPUs"
        for name in _ARMS
        for arm in (one.arms[name],)
    )


def _quantiles(arm: Arm, slas: Sequence[Sla]) -> str:
    pairs = zip(arm.loads, slas, strict=True)
    found = (load.latency(sla) for load, sla in pairs)
    return "".join(f"{1e3 * one.quantile_s:.1f} ms " for one in found if one)
