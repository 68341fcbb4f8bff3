"""Figures of one cell for the runner: distributions, quantiles, batch work, own CPU use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from aferir.colocation import evaluation
from aferir.colocation.evaluation import Point
from aferir.colocation.settings import Sla
from aferir.colocation.trials import beside
from aferir.colocation.trials.latencies import as_faban
from aferir.colocation.trials.study import Cell, Tried
from aferir.model.record import Sample, Series, Warning
from aferir.programs.figures import Figures

_RATES = {"rate": "highest_requests_per_s", "cpus": "all_cpus_requests_per_s"}
"""Name of the figure for the rate that corresponds to a load of 1."""


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
            *(beside.samples(cell.each, tried.arms, tried.more_per_s) if cell.more else ()),
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
            *(beside.series(cell.each, tried.arms) if cell.more else ()),
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
    late = [arm.policy for arm in tried.arms if not all(one.healthy for one in arm.loads)]
    if late:
        yield Warning(
            "load-late",
            f"requests were sent late under {', '.join(late)}",
            "a quieter machine, or a lower load",
        )
    leaks = {arm.policy: arm.leaked_cpus for arm in tried.arms if arm.leaked_cpus > 0}
    if leaks:
        yield Warning(
            "bandwidth-leaked",
            f"up to {max(leaks.values()):.2g} CPUs stayed reserved under SCHED_DEADLINE, although "
            f"no thread has them, after {', '.join(leaks)}",
            "write to kernel.sched_rt_runtime_us the value that it has: the kernel counts again",
        )
