"""Draws the best and the worst simulated run over time, as Dutra 2015 does (Figures 5.13 on)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.elastic.front import Books
from aferir.elastic.metrics import Trace
from aferir.report.charts import plane
from aferir.report.charts.rows import stacked
from aferir.report.charts.scales import fitting
from aferir.report.write.picture import write_picture

_NAME = "courses"
_CAPTION = (
    "Clients that are served or wait, and those that the ready instances have room for. Where the "
    "room is below the clients, some wait for an instance, and those whose patience ends meanwhile "
    "are blocked. Of all simulated runs, the one with the fewest and the one with the most."
)


class Course(msgspec.Struct, frozen=True):
    """One simulated run over time."""

    name: str
    books: Books
    trace: Trace
    clients_per_node: int


def draw(path: Path, title: str, courses: Sequence[Course]) -> None:
    """Write one picture of all courses, one below another. Errors: OSError, UsageError."""
    charts = [_chart(course, f"{_NAME}-{place}") for place, course in enumerate(courses)]
    described = "; ".join(_blocked(course) for course in courses)
    svg = stacked(charts, name=_NAME, title=title, description=described)
    write_picture(path, svg, title=title, caption=_CAPTION)


def _chart(course: Course, name: str) -> str:
    trace = course.trace
    room = [course.clients_per_node * nodes for nodes in trace.nodes]
    drawn: list[plane.Drawn] = [
        plane.Path(steps(trace.times_s, room), "e1", "dashed"),
        plane.Path(steps(trace.times_s, trace.clients), "e0"),
    ]
    return plane.plane_chart(
        drawn,
        (fitting([0.0, *trace.times_s], "s"), fitting([0, *room, *trace.clients], "1")),
        name=name,
        title=_blocked(course),
        description=f"at most {max(trace.clients)} clients and {max(trace.nodes)} instances",
        below="time",
        legend=(plane.Entry("clients", "e0"), plane.Entry("room for clients", "e1", "dashed")),
    )


def _blocked(course: Course) -> str:
    books = course.books
    share = 100 * books.blocked / max(1, books.received)
    return f"{course.name}: {books.blocked} of {books.received} clients blocked ({share:.1f} %)"


def steps(times_s: Sequence[float], values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Corners of the step function that is 0 at first and has each value from its time on."""
    corners, before = [(0.0, 0.0)], 0.0
    for time_s, value in zip(times_s, values, strict=True):
        if value != before:
            corners += [(time_s, before), (time_s, float(value))]
            before = float(value)
    return (*corners, (max(times_s, default=0.0), before))
