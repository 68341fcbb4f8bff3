"""Several virtual clusters on one server: Mello 2010, Figure 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import (
    PER_PROCESSOR,
    cells,
    measured_in,
    ours,
    rate_ratio,
    with_level,
)
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table

_PROCESSORS = 8
_PROGRAM = "lattice-boltzmann"
_TENANTS = "environment.tenants"


def _find(seen: Seen) -> Iterator[Ours]:
    """Percentage of its rate that a cluster loses when several run at once instead of one."""
    for cell in cells(seen, _PROGRAM):
        alone = with_level(seen, cell, _TENANTS, 1)
        if not measured_in(cell, "cluster") or alone is None or alone.cell == cell.cell:
            continue
        if (rate := rate_ratio(cell, alone)) is not None:
            yield ours(seen, cell, rate.scaled(-100).plus(100))


def _row(fields: Fields) -> Row:
    processes, clusters, note = int(fields["processes"]), int(fields["clusters"]), fields["note"]
    load = processes / _PROCESSORS
    return Row(
        what=f"{clusters} clusters, {processes} processes each: loss{f' ({note})' if note else ''}",
        value=float(fields["loss_percent"]) if fields["loss_percent"] else None,
        unit="%",
        source=fields["source"],
        answer=f"speed of the program `{_PROGRAM}` in an environment of the kind `cluster` with "
        f"`environment.tenants = {clusters}` against 1, {load:g} processes for each processor",
        find=lambda seen: [*_find(seen)],
        pick=(Condition("tenants", clusters, 1), Condition(PER_PROCESSOR, load)),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="virtual_cluster_concurrency",
    title="Several virtual clusters on one server",
    differs="Mello 2010 ran PARPAC on clusters of guests on a server with 8 processors; rows are "
    "matched by processes for each processor. Here nodes are containers unless the environment "
    "says otherwise.",
    rows=_rows,
)
