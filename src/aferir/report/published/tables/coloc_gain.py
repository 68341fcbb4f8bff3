"""Gain of EDFCoaloc over the default scheduler: Oliveira 2022, 5.3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import cells, ours
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table
from aferir.statistics.estimates import Estimate, of_interval, quotient

_PROGRAM = "colocation"
_METRIC = "latency_p95_s"
_LOADS = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Share of the CPUs that the service uses without batch work (Oliveira 2022, 5.2)."""


def _find(seen: Seen) -> Iterator[Ours]:
    """95th percentile of latency by the default scheduler over that by EDFCoaloc, less 1, in %."""
    for cell in cells(seen, _PROGRAM):
        arms = _arms(seen, cell.group, cell.environment)
        if {"default", "edfcoaloc"} <= arms.keys() and arms["edfcoaloc"].value > 0:
            gain = quotient(arms["default"], arms["edfcoaloc"])
            yield ours(seen, cell, gain.scaled(100).plus(-100))


def _arms(seen: Seen, group: str, environment: str) -> dict[str, Estimate]:
    """95th percentile of latency in seconds, by policy."""
    return {
        str(point.at): of_interval(point.median, point.interval, point.n)
        for family in seen.evaluation.curves
        if family.title == group and family.metric == _METRIC and family.along == "policy"
        for curve in family.curves
        if curve.environment == environment
        for point in curve.points
    }


def _row(fields: Fields) -> Row:
    batch, load, threads = fields["batch_program"], fields["load"], fields["threads"]
    of_threads = f", {threads} threads" if threads else ""
    number = int(threads) if threads else None
    return Row(
        what=f"{batch}, {load} load{of_threads}",
        value=float(fields["p95_gain_percent"]),
        unit="%",
        source=fields["source"],
        answer=f"`{_METRIC}` of the program `{_PROGRAM}` under `default` over that under "
        f"`edfcoaloc`, with `load = {_LOADS[load]:g}`"
        + (f" and `threads = {number}`" if number else "")
        + f"; aferir has no {batch} of PARSEC, so another batch program stands beside",
        find=lambda seen: [*_find(seen)],
        pick=(
            Condition("load", _LOADS[load], 0.5),
            *([Condition("threads", number, 4)] if number else []),
        ),
        alike=(
            Condition("service", "elasticsearch", "nginx"),
            Condition("batch", batch, "xz"),
            Condition("step_to", 0.0, 0.0),
        ),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="coloc_gain",
    title="What EDFCoaloc gains over the default scheduler",
    differs="Oliveira 2022 measured Elasticsearch over an index of Wikipedia on a server of 6 "
    "virtual CPUs, with batch programs of PARSEC; its loads are shares of the CPUs in use, ours "
    "shares of the highest rate that meets the service level.",
    rows=_rows,
)
