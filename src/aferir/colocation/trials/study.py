"""One cell of the evaluation: every arm with one load, batch program and number of threads."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation.further import Further
from aferir.colocation.policies import POLICIES
from aferir.colocation.program import need_batch
from aferir.colocation.settings import Sla
from aferir.colocation.trials import memcached, nginx, search
from aferir.colocation.trials.arm import Arm, Batch, Loaded, Setup, run
from aferir.colocation.trials.capacity import Tell, highest_rate, rate_using
from aferir.colocation.trials.load import Crowd, Rate, Times, users
from aferir.colocation.trials.service import LOOPBACK, Running
from aferir.errors import UsageError
from aferir.linux import scratch

ALONE = "alone"
"""Name of the arm with the service but without batch work."""
BATCH_ALONE = "batch alone"
"""Name of the arm with the batch program but without load, the reference for its work in other
arms."""
_ON_LOOPBACK = ("elasticsearch", "opensearch")
LoadOf = Literal["rate", "cpus"]
"""Quantity of which a load is a share: the highest rate at which the service alone meets its SLA,
or the CPU time of all CPUs."""
TEXT_BYTES = 64 * 2**20
"""Bytes of text that the search engines index."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of one cell of the evaluation."""

    load: float
    """Load as a share of the highest rate at which the service alone meets its level, or of the
    CPU time of all CPUs."""
    load_of: LoadOf = "rate"
    batch: Batch
    sla: Sla
    service: str = ""
    """Name of the service in figures of several services."""
    more: tuple[Further, ...] = ()
    """Further services beside the same batch program."""
    arms: tuple[str, ...] = tuple(POLICIES)
    times: Times = Times()
    step_to: float = 0.0
    """Load from the middle of the measured time on; 0: the load does not change."""
    rate: float = 0.0
    """Rate in requests per second at a load of 1; 0: it is searched for first."""
    users: int = 0
    """Number of users of a closed loop at a load of 1; 0: an open loop."""
    think_s: float = 0.0
    """Mean time in seconds that a user thinks before it asks again."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Check that the arms and the batch program exist.

        Errors: UsageError if one does not, MissingError if the batch program is not installed.
        """
        if not self.batch.command:
            need_batch(self.batch.program)
        for arm in self.arms:
            if arm not in POLICIES:
                raise UsageError(
                    f"there is no policy `{arm}`", remedy=f"one of: {', '.join(POLICIES)}"
                )

    @property
    def each(self) -> tuple[tuple[str, Sla], ...]:
        """Name and SLA of every service."""
        return ((self.service, self.sla), *((one.service, one.sla) for one in self.more))

    @property
    def step_s(self) -> float:
        """Time of the load's step, in seconds from the start of the load."""
        return self.times.warm_up_s + self.times.measured_s / 2

    def asked(self, whole: float) -> Rate:
        """Return the load as a rate, steps, or users; `whole`: rate or users at a load of 1."""
        if self.users:
            return Crowd(max(1, round(self.load * whole)), self.think_s)
        if not self.step_to:
            return round(self.load * whole, 3)
        return f"0:{self.load * whole:.3f},{self.step_s:g}:{self.step_to * whole:.3f}"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one cell of the evaluation."""

    rate: float
    """Rate in requests per second, or users, at a load of 1."""
    arms: tuple[Arm, ...]
    alone_per_s: float
    """Pieces of batch work per second without load."""
    duration_s: float
    text_bytes: int = 0
    """Bytes of text that the service indexed."""
    more_per_s: tuple[float, ...] = ()
    """Requests per second that were sent to each of the further services."""

    def share(self, arm: Arm) -> float:
        """Batch work of an arm relative to the batch program alone."""
        return arm.batch_per_s / self.alone_per_s if self.alone_per_s > 0 else 0.0


@contextmanager
def serving(name: str, workers: int, text_bytes: int = TEXT_BYTES) -> Iterator[Running]:
    """Start the service called `name`, on addresses that its load generator can reach.

    Errors: UsageError, and those of the service.
    """
    addresses = tuple(dict.fromkeys((LOOPBACK, users().address)))
    if len(addresses) > 1 and name in _ON_LOOPBACK:
        raise UsageError(
            f"{name} is asked by the loopback address alone, not from another host",
            remedy="choose nginx or memcached, or an environment on one host",
        )
    makers: Mapping[str, Callable[[Path], AbstractContextManager[Running]]] = {
        "nginx": lambda folder: nginx.running(folder, workers, addresses),
        "memcached": lambda folder: memcached.running(folder, workers, addresses),
        "elasticsearch": lambda folder: search.running("elasticsearch", folder, text_bytes),
        "opensearch": lambda folder: search.running("opensearch", folder, text_bytes),
    }
    if name not in makers:
        raise UsageError(f"there is no service `{name}`", remedy=f"one of: {', '.join(makers)}")
    # Services run as another user, who must be able to read the folder.
    with scratch.folder(mode=0o755) as folder, makers[name](folder) as running:
        yield running


def study(service: Running, cell: Cell, tell: Tell, more: Sequence[Running] = ()) -> Tried:
    """Run all arms one after another in random order.

    `more`: the cell's further services, in their order. Errors: ProgramError, MissingError.
    """
    begun = time.monotonic()
    whole = cell.users or cell.rate or _whole_rate(service, cell, cell.load_of, tell)
    beside = list(zip(more, cell.more, strict=True))
    rates = tuple(_further_rate(running, one, cell, tell) for running, one in beside)
    setup = Setup(
        service,
        cell.sla,
        cell.asked(whole),
        cell.batch,
        cell.times,
        cell.seed,
        more=tuple(
            Loaded(running, one.sla, rate)
            for (running, one), rate in zip(beside, rates, strict=True)
        ),
    )
    draw = random.Random(cell.seed)  # noqa: S311 - not cryptography
    order = draw.sample([*cell.arms, BATCH_ALONE], len(cell.arms) + 1)
    arms, alone_per_s = [], 0.0
    for name in order:
        alone = name == BATCH_ALONE
        arm = run("default", setup.without_load()) if alone else run(name, setup)
        tell(_words(name, arm, cell))
        if alone:
            alone_per_s = arm.batch_per_s
        else:
            arms.append(arm)
    arms.sort(key=lambda arm: cell.arms.index(arm.policy))
    return Tried(
        rate=whole,
        arms=tuple(arms),
        alone_per_s=alone_per_s,
        duration_s=time.monotonic() - begun,
        text_bytes=service.text_bytes,
        more_per_s=rates,
    )


def _whole_rate(service: Running, asked: Cell | Further, load_of: LoadOf, tell: Tell) -> float:
    """Rate in requests per second at a load of 1, found with the service alone."""
    if load_of == "cpus":
        return rate_using(service, asked.load, tell) / asked.load
    return highest_rate(service, asked.sla, tell)


def _further_rate(service: Running, one: Further, cell: Cell, tell: Tell) -> float:
    """Requests per second that a further service is sent."""
    return round(one.load * (one.rate or _whole_rate(service, one, cell.load_of, tell)), 3)


def _words(name: str, arm: Arm, cell: Cell) -> str:
    told = (
        f"{1e3 * found.quantile_s:.1f} ms" if (found := load.latency(sla)) else "no quantile"
        for load, (_, sla) in zip(arm.loads, cell.each, strict=True)
    )
    said = " and ".join(told)
    return f"{name}: {said}, {arm.batch_per_s:.1f} pieces of batch work a second"
