"""Clients that a late allocation blocks: Dutra 2015, Tables 5.6 and 5.7."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import cells, mean, ours
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table
from aferir.report.published.tables.clouds import NO_XEN, of_row, title

_PROGRAM = "elastic-movie"
_VIDEO_S = 1800.0
_PATIENCE = "patience over length of the video"
_INTERARRIVAL = "time between clients over length of the video"
_CLIENTS_PER_NODE = "clients per instance"
_UNSET = {"video": 20.0, "patience": 2.0, "interarrival": 0.5}
"""The program's defaults in s, for keys that the run does not set."""


def _find(seen: Seen) -> Iterator[Ours]:
    """Share of blocked clients, with its conditions.

    Times are divided by the video's length, so that a run with a shorter video is comparable.
    """
    for cell in cells(seen, _PROGRAM):
        figure, each = mean(cell, "blocked_percent"), mean(cell, "clients_per_node")
        values = cell.parameters | cell.factors
        video, patience, interarrival = (
            float(values.get(name, default)) for name, default in _UNSET.items()
        )
        if figure is not None and video > 0:
            more = {_PATIENCE: patience / video, _INTERARRIVAL: interarrival / video}
            if each is not None:
                more[_CLIENTS_PER_NODE] = each.value
            yield ours(seen, cell, figure, **more)


def _row(fields: Fields) -> Row:
    xen = fields["hypervisor"] == "xen"
    patience, between = float(fields["patience_s"]), float(fields["mean_interarrival_s"])
    clients = int(fields["clients"])
    best, worst = fields["blocked_best"], fields["blocked_worst"]
    return Row(
        what=f"PcBl, {title(fields)}, {clients} clients, patience {patience:g} s",
        value=float(fields["PcBl_percent"]),
        unit="%",
        extent=(100 * int(best) / clients, 100 * int(worst) / clients) if best and worst else None,
        source=fields["source"],
        answer=NO_XEN
        if xen
        else f"`blocked_percent` of the program `{_PROGRAM}` with `clients = {clients}`, patience "
        "and time between clients as shares of the video's length",
        find=None if xen else lambda seen: [*_find(seen)],
        pick=(
            Condition("clients", clients, 50),
            Condition(_PATIENCE, patience / _VIDEO_S),
        ),
        alike=(
            Condition("technology", "vm", "container"),
            Condition(_INTERARRIVAL, between / _VIDEO_S),
            Condition(_CLIENTS_PER_NODE, float(fields["clients_per_instance"])),
            *of_row(fields),
        ),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="vod_blocking",
    title="Clients whom a late allocation blocks",
    differs="Dutra 2015 let viewers watch videos of 30 minutes from eight servers under OpenStack "
    "Juno or OpenNebula 4.10. Blocked clients compare where allocations are as long beside "
    "patience; a short form has all times in the same proportion to the video's length.",
    rows=_rows,
)
