"""Time to allocate one instance: Dutra 2015, Table 5.5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import cells, either, mean, ours
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table
from aferir.report.published.tables.clouds import NO_XEN, of_row, title
from aferir.statistics.estimates import of_summary

_PROGRAM = "elastic-allocation"
_KINDS = ("vm", "cloud")
"""Kinds of environments whose instances are guests, as the published ones are."""


def _of_program(seen: Seen) -> Iterator[Ours]:
    for cell in cells(seen, _PROGRAM):
        if (figure := mean(cell, "tar_s")) is not None:
            yield ours(seen, cell, figure)


def _of_environments(seen: Seen) -> Iterator[Ours]:
    """Allocations of the run's own environments; without a cloud they have no manager."""
    keys = {cell.environment: cell.specification for cell in seen.evaluation.cells}
    for one in seen.evaluation.allocations:
        figure = of_summary(one.total)
        if figure is not None and one.kind in _KINDS:
            yield Ours(
                environment=one.environment,
                group="allocation",
                emulated=one.emulated,
                figure=figure,
                conditions={
                    "cloud.provider": "none",
                    **keys.get(one.environment, {}),
                    "kind": one.kind,
                    "technology": "vm",
                },
            )


def _row(fields: Fields) -> Row:
    xen = fields["hypervisor"] == "xen"
    extra = float(fields["extra_network_context_s"])
    then = f" (and {extra:g} s for the network)" if extra else ""
    return Row(
        what=f"{title(fields)}{then}",
        value=float(fields["mean_s"]),
        unit="s",
        sd=float(fields["sd_s"]),
        n=int(fields["runs"]),
        source=fields["source"],
        answer=NO_XEN
        if xen
        else f'`tar_s` of the program `{_PROGRAM}` with `technology = "vm"` in an environment of '
        "the kind `cloud`; the total of allocations of environments of the kind `vm` stands "
        "beside",
        find=None if xen else either(lambda s: [*_of_program(s)], lambda s: [*_of_environments(s)]),
        pick=(Condition("technology", "vm", "container"),),
        alike=of_row(fields),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="allocation_latency",
    title="Time to allocate one instance",
    differs="Dutra 2015 allocated through the manager of a cloud of several hosts, from images of "
    "2.8 GB.",
    rows=_rows,
)
