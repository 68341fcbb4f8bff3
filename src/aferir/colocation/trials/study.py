"""One cell of the evaluation: every arm with one load, batch program and number of threads."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation import evaluation
from aferir.colocation.evaluation import Point
from aferir.colocation.policies import POLICIES
from aferir.colocation.program import need_batch
from aferir.colocation.settings import Sla
from aferir.colocation.trials import memcached, nginx, search
from aferir.colocation.trials.arm import Arm, Batch, Setup, run
from aferir.colocation.trials.capacity import Tell, highest_rate, rate_using
from aferir.colocation.trials.latencies import as_faban
from aferir.colocation.trials.load import Crowd, Rate, Times, users
from aferir.colocation.trials.service import LOOPBACK, Running
from aferir.errors import UsageError
from aferir.linux import scratch
from aferir.model.record import Sample, Series, Warning
from aferir.programs.figures import Figures

ALONE = "alone"
"""Name of the arm with the service but without batch work."""
BATCH_ALONE = "batch alone"
"""Name of the arm with the batch program but without load, the reference for its work in other
arms."""
_ON_LOOPBACK = ("elasticsearch", "opensearch")
LoadOf = Literal["rate", "cpus"]
"""Quantity of which a load is a share: the highest rate at which the service alone meets its SLA,
or the CPU time of all CPUs."""
_RATES = {"rate": "highest_requests_per_s", "cpus": "all_cpus_requests_per_s"}
"""Name of the figure for the rate that corresponds to a load of 1."""
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


def study(service: Running, cell: Cell, tell: Tell) -> Tried:
    """Run all arms one after another in random order. Errors: ProgramError, MissingError."""
    begun = time.monotonic()
    whole = cell.users or cell.rate or _whole_rate(service, cell, tell)
    rate = cell.asked(whole)
    draw = random.Random(cell.seed)  # noqa: S311 - not cryptography
    order = draw.sample([*cell.arms, BATCH_ALONE], len(cell.arms) + 1)
    arms, alone_per_s = [], 0.0
    for name in order:
        asked: Rate = 0.0 if name == BATCH_ALONE else rate
        policy = "default" if name == BATCH_ALONE else name
        arm = run(policy, Setup(service, cell.sla, asked, cell.batch, cell.times, cell.seed))
        tell(_words(name, arm, cell.sla))
        if name == BATCH_ALONE:
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
    )


def _whole_rate(service: Running, cell: Cell, tell: Tell) -> float:
    """Rate in requests per second at a load of 1, found with the service alone."""
    if cell.load_of == "cpus":
        return rate_using(service, cell.load, tell) / cell.load
    return highest_rate(service, cell.sla, tell)


def figures(cell: Cell, tried: Tried) -> Figures:
    """Figures for the runner: distributions, quantiles, batch work, and the controller's cost."""
    points = {
        arm.policy: Point(latency_s=found.quantile_s, batch_share=tried.share(arm))
        for arm in tried.arms
        if (found := arm.latency(cell.sla)) is not None
    }
    quantiles = {name: point.latency_s for name, point in points.items()}
    return Figures(
        program="colocation",
        samples=(
            Sample("duration_s", tried.duration_s, "s"),
            _whole_load(cell, tried),
            Sample("batch_alone_per_s", tried.alone_per_s, "1/s"),
            *([Sample("text_bytes", tried.text_bytes, "B")] if tried.text_bytes else []),
            *_of_ours(tried, cell.sla),
        ),
        series=(
            *filter(
                None, (evaluation.distribution(a.load.latencies(), a.policy) for a in tried.arms)
            ),
            *_along_threads(quantiles, cell),
            *evaluation.by_policy(points, cell.sla),
            *evaluation.scatter(points, cell.sla),
            *_by_arm(tried, cell.sla),
            *_as_faban(tried, cell),
            *_after_step(cell, tried),
        ),
        doubts=tuple(_doubts(tried)),
    )


def _whole_load(cell: Cell, tried: Tried) -> Sample:
    """Figure that reports the rate, or the number of users, at a load of 1."""
    if cell.users:
        return Sample("users", tried.rate, "1")
    return Sample(_RATES[cell.load_of], tried.rate, "1/s")


def _of_ours(tried: Tried, sla: Sla) -> list[Sample]:
    """Samples of the policy `aferir`, if it is among the arms."""
    ours = next((arm for arm in tried.arms if arm.policy == "aferir"), None)
    found = ours.latency(sla) if ours else None
    if ours is None or found is None:
        return []
    return [
        Sample("aferir_latency_quantile_s", found.quantile_s, "s"),
        Sample("aferir_batch_share", tried.share(ours), "1"),
    ]


def _along_threads(quantiles: Mapping[str, float], cell: Cell) -> list[Series]:
    """Series over the number of threads, and the SLA, which is the same for all of them."""
    made = [
        Series(
            metric=evaluation.latency_metric(cell.sla),
            unit="s",
            values=(value,),
            along="threads",
            at=(cell.batch.threads,),
            label=name,
        )
        for name, value in quantiles.items()
    ]
    return [*made, *(evaluation.bound(cell.sla, one) for one in made[:1])]


def _by_arm(tried: Tried, sla: Sla) -> list[Series]:
    names = tuple(arm.policy for arm in tried.arms)

    def series(metric: str, unit: str, values: Sequence[float]) -> Series:
        return Series(metric=metric, unit=unit, values=tuple(values), along="policy", at=names)

    return [
        series("violations", "1", [arm.violations(sla) for arm in tried.arms]),
        series("system_worst_s", "s", [max(arm.system_s, default=0.0) for arm in tried.arms]),
        series("controller_cpus", "1", [arm.own_cpus for arm in tried.arms]),
        series("machine_tasks_per_s", "1/s", [arm.speed for arm in tried.arms]),
    ]


def _as_faban(tried: Tried, cell: Cell) -> Iterator[Series]:
    """Faban's figures for each arm, but not the SLA's percentile, which is reported already."""
    answers = {arm.policy: [one.latency_s for one in arm.load.asked] for arm in tried.arms}
    for series in as_faban(answers, cell.times.measured_s):
        if series.metric != evaluation.latency_metric(cell.sla):
            yield series


def _after_step(cell: Cell, tried: Tried) -> Iterator[Series]:
    """Latency over time, and how long the SLA is violated after the step of the load."""
    if not cell.step_to:
        return
    answers = {
        arm.policy: [(one.intended_s, one.latency_s) for one in arm.load.asked]
        for arm in tried.arms
    }
    moment = {"load changes": cell.step_s}
    courses = [
        msgspec.structs.replace(evaluation.by_time(asked, name, cell.sla), moments=moment)
        for name, asked in answers.items()
    ]
    yield from courses
    longest = max(courses, key=lambda course: len(course.values))
    yield evaluation.bound(cell.sla, longest)
    yield Series(
        metric="settled_s",
        unit="s",
        values=tuple(
            evaluation.settled_s(asked, cell.sla, cell.step_s) for asked in answers.values()
        ),
        along="policy",
        at=tuple(answers),
    )


def _doubts(tried: Tried) -> Iterator[Warning]:
    late = [arm.policy for arm in tried.arms if not arm.load.healthy]
    if late:
        yield Warning(
            "load-late",
            f"requests were sent late under {', '.join(late)}",
            "a quieter machine, or a lower load",
        )
    leaks = [arm.policy for arm in tried.arms if arm.leaked_cpus > 0]
    if leaks:
        yield Warning("bandwidth-leaked", f"reserved for nobody after {', '.join(leaks)}")


def _words(name: str, arm: Arm, sla: Sla) -> str:
    found = arm.latency(sla)
    said = f"{1e3 * found.quantile_s:.1f} ms" if found else "no quantile"
    return f"{name}: {said}, {arm.batch_per_s:.1f} pieces of batch work a second"
