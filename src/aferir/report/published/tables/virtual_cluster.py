"""A virtual cluster against the real one: Mello 2010, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import (
    PER_PROCESSOR,
    measured_in,
    ours,
    over_baseline,
    rate_ratio,
)
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table

_PROCESSORS = 8
"""Processors of a server of the publication: two Xeon 5520."""
_B_EFF = "effective-bandwidth"
_PROGRAMS = {
    "PARPAC Gflop/s": ("lattice-boltzmann", "throughput_gflops"),
    "b_eff MB/s": (_B_EFF, "b_eff_bps"),
}


def _find(seen: Seen, program: str, metric: str) -> Iterator[Ours]:
    for cell, baseline in over_baseline(seen, program):
        figure = rate_ratio(cell, baseline, metric)
        alike = measured_in(cell, "cluster") and measured_in(baseline, "native")
        if alike and figure is not None:
            yield ours(seen, cell, figure.scaled(100))


def _row(fields: Fields) -> Row:
    program, metric = _PROGRAMS[fields["metric"]]
    processes = fields["processes"]
    load = int(processes) / _PROCESSORS if processes else None
    said = f", {load:g} processes for each processor" if load else ""
    return Row(
        what=f"{fields['metric']}{f', {processes} processes' if processes else ''}: virtual "
        "cluster over real cluster",
        value=float(fields["virtual_over_real_percent"]),
        unit="%",
        source=fields["source"],
        answer=f"`{metric}` of the program `{program}` in an environment of the kind `cluster` "
        f'with `node_kind = "vm"` over the native one{said}',
        find=lambda seen: [*_find(seen, program, metric)],
        pick=(Condition(PER_PROCESSOR, load),) if load else (),
        alike=(
            Condition("node_kind", "vm", "container"),
            *([Condition("repetitions", 3, 3)] if program == _B_EFF else []),
        ),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="virtual_cluster",
    title="A virtual cluster against the real one",
    differs="Mello 2010 ran PARPAC and b_eff on guests without virtio, one for each of several "
    "servers with two Xeon 5520 processors and Gigabit Ethernet. Here `lattice-boltzmann` stands "
    "for PARPAC, on one host.",
    rows=_rows,
)
