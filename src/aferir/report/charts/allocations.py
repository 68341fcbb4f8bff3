"""Chart of allocation phases, stacked, with releases and published results."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.charts.rows import Bar, Drawn, Key, Line, Note, Panel, Row, rows_chart
from aferir.report.charts.scales import Axis, time_ticks
from aferir.report.formatting import labelled, metric_name, quantity, quantity_interval
from aferir.report.marks import places
from aferir.report.model import AllocationResult, Evaluation
from aferir.report.published.model import Beside
from aferir.statistics.summary import Summary

_PHASES = ("placed_s", "copied_s", "booted_s", "ready_s")


def allocation_chart(
    evaluation: Evaluation,
    shown: Sequence[AllocationResult],
    published: Sequence[Beside] = (),
) -> str:
    """Chart of the allocations in `shown`.

    Each environment has its own time axis: a container takes milliseconds, a guest seconds, and
    stacked phases cannot be drawn on a logarithmic axis.
    """
    marks = places(evaluation.environments)
    panels = [_own(allocation, marks[allocation.environment]) for allocation in shown]
    return rows_chart(
        [*panels, *([_others(published)] if published else [])],
        name="allocations",
        title="Time to allocate and to release an instance",
        description="; ".join(_words(allocation) for allocation in shown),
        legend=_legend(shown),
    )


def _words(allocation: AllocationResult) -> str:
    name = labelled(allocation.environment, allocation.emulated)
    return f"{name}: {_figure(allocation.total)}"


def _figure(summary: Summary) -> str:
    return f"{quantity_interval(summary.mean, summary.mean_interval, 's')} · n = {summary.n}"


def _own(allocation: AllocationResult, place: int) -> Panel:
    emulated, total, release = allocation.emulated, allocation.total, allocation.release
    colour = f"e{place}"
    drawn: list[Drawn] = []
    left = 0.0
    for phase in allocation.phases:
        right = left + (phase.summary.mean or 0.0)
        drawn.append(Bar(left, right, f"{colour} {_shade(phase.metric)}"))
        left = right
    end = total.mean or 0.0
    # Time outside the phases is one bar, and so is all of it where no phases are known.
    if end - left > 0.005 * end:
        drawn.append(Bar(left, end, "muted phase-0" if allocation.phases else f"{colour} phase-0"))
    if emulated:
        drawn.append(Bar(0.0, end, "plain", hatched=True))
    if total.mean_interval is not None:
        drawn.append(Line(total.mean_interval.low, total.mean_interval.high, "ink", wide=1.4))
    measured = release.n > 0 and release.mean is not None
    return Panel(
        rows=(
            Row(
                label=labelled(allocation.environment, emulated),
                note=_figure(total),
                place=place,
                drawn=tuple(drawn),
            ),
            Row(
                label="release",
                note=_figure(release) if measured else "",
                quiet=True,
                drawn=_release(release.mean or 0.0, colour, emulated)
                if measured
                else (Note(0.0, "not measured"),),
            ),
        ),
        axis=_axis([end, release.mean or 0.0, *_high(total)]),
    )


def _release(mean: float, colour: str, emulated: bool) -> tuple[Drawn, ...]:
    hatch = (Bar(0.0, mean, "plain", hatched=True),) if emulated else ()
    return (Bar(0.0, mean, f"{colour} phase-0"), *hatch)


def _high(summary: Summary) -> list[float]:
    return [summary.mean_interval.high] if summary.mean_interval else []


def _axis(values: Sequence[float]) -> Axis:
    most = 1.04 * max(values)
    return Axis(0.0, most, time_ticks(0.0, most))


def _shade(phase: str) -> str:
    return f"phase-{_PHASES.index(phase)}"


def _others(published: Sequence[Beside]) -> Panel:
    shown = [(row, row.value or 0.0, row.sd or 0.0) for row in published]
    return Panel(
        title="Published: other machines, a cloud manager and images of 2.8 GB (Dutra 2015)",
        rows=tuple(
            Row(
                label=row.what,
                note=f"{quantity(mean, 's')} ± {quantity(sd, 's')} (sd) · n = {row.n}",
                quiet=True,
                drawn=(
                    Bar(0.0, mean, "muted phase-0"),
                    Line(mean - sd, mean + sd, "muted", wide=1.4),
                ),
            )
            for row, mean, sd in shown
        ),
        axis=_axis([mean + sd for _, mean, sd in shown]),
    )


def _legend(allocations: Sequence[AllocationResult]) -> list[Key]:
    present = {phase.metric for allocation in allocations for phase in allocation.phases}
    keys = [Key(f"ink {_shade(p)}", metric_name(p)) for p in _PHASES if p in present]
    if any(allocation.emulated for allocation in allocations):
        keys.append(Key("plain", "emulated in software", hatched=True))
    return keys
