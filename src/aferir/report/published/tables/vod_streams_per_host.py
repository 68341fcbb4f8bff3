"""Streams that one host sustains: Dutra 2015, Tables 5.2 to 5.4."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.published.finding import sample
from aferir.report.published.model import Condition, Fields, Row, Table
from aferir.report.published.tables.clouds import NO_XEN, pretty

_PROGRAM = "elastic-capacity"
_TECHNOLOGY = {"lxc": "container", "kvm": "vm"}


def _row(fields: Fields) -> Row:
    name, instances = fields["virtualisation"], int(fields["instances"])
    xen = name == "xen"
    technology = _TECHNOLOGY.get(name)
    kept = f' and `technology = "{technology}"`' if technology else ""
    return Row(
        what=f"{pretty(name)}, instances: {instances}" if instances else pretty(name),
        value=float(fields["clients_per_host"]),
        unit="1",
        source=fields["source"],
        answer=NO_XEN
        if xen
        else f"`streams` of the program `{_PROGRAM}` with `instances = {instances}`{kept}",
        find=None if xen else sample(_PROGRAM, metric="streams"),
        pick=(
            Condition("instances", instances, 0),
            *([Condition("technology", technology, "container")] if technology else []),
        ),
        alike=(Condition("rate_mbit", 1000.0, 0.0), Condition("bitrate_mbit", 2.698, 2.698)),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="vod_streams_per_host",
    title="Streams at 2.8 Mbit/s that one host sustains",
    differs="Dutra 2015 served from hosts of eight cores with 1 Gbit/s, to viewers on other hosts. "
    "Here viewers share the host with the server.",
    rows=_rows,
)
