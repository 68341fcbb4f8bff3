"""Several network links bonded into one, and LXC compared with KVM: Maliszewski 2019."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from aferir.report.model import CellResult
from aferir.report.pairs import duration_ratio
from aferir.report.published.finding import (
    cells,
    measured_in,
    of_point,
    ours,
    points,
    rate_ratio,
    sample,
    with_level,
)
from aferir.report.published.model import Condition, Fields, Finder, Ours, Row, Seen, Table
from aferir.statistics.estimates import Estimate
from aferir.statistics.ratio import Ratio

_NPB = "npb-mpi"
_SWEEPS = ("netpipe", "net-sweep")
_BITS = 8.0
_SIGNIFICANT = 0.05
_FEWEST = 10
"""Smallest number of groups with which a share has an error, that of the normal approximation."""
_PROGRAMS = ("npb", "npb-mpi", "netpipe", "net-sweep")

_ALIKE = (
    Condition("method", "balance-rr"),
    Condition("rate_mbit", 1000),
    Condition("ranks_in", "containers", "hosts"),
)
"""Conditions of the study: bonding mode, rate of a link in Mbit/s, and LXD containers."""


def _reduction(kernel: str, links: int) -> Finder:
    """Make a finder of the reduction of run time by several links instead of one, in percent."""

    def find(seen: Seen) -> Iterator[Ours]:
        for cell in cells(seen, _NPB):
            one = with_level(seen, cell, "links", 1)
            is_it = cell.parameters.get("kernel") == kernel
            if not is_it or one is None or cell.factors.get("links") != links:
                continue
            if (speed := rate_ratio(cell, one)) is not None:
                yield ours(seen, cell, speed.inverse().scaled(-100).plus(100))

    return lambda seen: [*find(seen)]


def _at(size_bytes: float) -> Finder:
    """Make a finder of the throughput with messages of about `size_bytes`, in bit/s."""

    def find(seen: Seen) -> Iterator[Ours]:
        for program in _SWEEPS:
            for cell, _, point in points(seen, program, "throughput_bps"):
                if isinstance(point.at, float) and abs(point.at / size_bytes - 1) < 0.1:
                    yield of_point(seen, cell, point, factor=_BITS)

    return lambda seen: [*find(seen)]


def _share(tenants: int, counts: Callable[[Ratio], bool]) -> Finder:
    """Make a finder of the percentage of groups whose container-to-guest ratio `counts` accepts."""

    def find(seen: Seen) -> Iterator[Ours]:
        found = [*_beside_guests(seen, tenants)]
        if found:
            level = seen.evaluation.rule.level
            ratios = [duration_ratio(one, guest, level=level) for one, guest in found]
            container, guest = found[0]
            figure = _proportion(sum(map(counts, ratios)), len(ratios))
            one = ours(seen, container, figure, tenants=tenants)
            yield Ours(
                environment=container.environment,
                group=f"{len(ratios)} groups",
                emulated=guest.emulated,
                figure=figure,
                conditions=one.conditions,
            )

    return lambda seen: [*find(seen)]


def _beside_guests(seen: Seen, tenants: int) -> Iterator[tuple[CellResult, CellResult]]:
    found = [
        cell for cell in cells(seen, *_PROGRAMS) if cell.specification.get("tenants", 1) == tenants
    ]
    for cell in found:
        for guest in found:
            alike = measured_in(cell, "container") and measured_in(guest, "vm")
            if alike and cell.group == guest.group:
                yield cell, guest


def _proportion(count: int, n: int) -> Estimate:
    """Share in percent; its error is unknown for few groups, too few to generalise from."""
    cautious = (count + 1) / (n + 2)  # one more of each kind, so that none of n is not certain
    error = 100 * math.sqrt(cautious * (1 - cautious) / n) if n >= _FEWEST else None
    return Estimate(value=100 * count / n, error=error, n=n)


def _faster(ratio: Ratio) -> bool:
    return ratio.estimate is not None and ratio.estimate < 1


def _alike(ratio: Ratio) -> bool:
    return ratio.p_value is None or ratio.p_value > _SIGNIFICANT


_RUN = tuple(Condition(*one) for one in (("class", "C"), ("processes", 16, 1)))
_THROUGHPUT = sample(*_SWEEPS, metric="most_throughput_bps", factor=_BITS)
_MOST = "`most_throughput_bps` of the programs `netpipe` or `net-sweep`, bidirectional, over {n}"
_OVER = "`throughput_bps` of the programs `netpipe` or `net-sweep`, bidirectional, over {n} links"
_SHARES = "environments of the kinds `container` and `vm` beside each other with `tenants = {n}`"
_BOTH_WAYS = Condition("mode", "bidirectional", "blocking")
_ANSWERS: Mapping[str, tuple[str, Finder, tuple[Condition, ...]]] = {
    "FT.C 16 processes, run time reduction": (
        '`duration_s` of the program `npb-mpi` with `kernel = "ft"` over 3 links against 1',
        _reduction("ft", 3),
        (*_RUN, *_ALIKE),
    ),
    "IS.C 16 processes, run time reduction": (
        '`duration_s` of the program `npb-mpi` with `kernel = "is"` over 4 links against 1',
        _reduction("is", 4),
        (*_RUN, *_ALIKE),
    ),
    "NetPIPE bidirectional throughput, 1 GbE": (
        _MOST.format(n="1 link"),
        _THROUGHPUT,
        (
            _BOTH_WAYS,
            Condition("links", 1),
            Condition("rate_mbit", 1000),
            Condition("ranks_in", "hosts", "hosts"),
        ),
    ),
    "NetPIPE bidirectional throughput, 30 kB": (
        _OVER.format(n=2) + ", at 30 kB",
        _at(30e3),
        (_BOTH_WAYS, Condition("links", 2), *_ALIKE),
    ),
    "NetPIPE bidirectional throughput, over 10 kB": (
        _MOST.format(n="4 links"),
        _THROUGHPUT,
        (_BOTH_WAYS, Condition("links", 4), *_ALIKE),
    ),
    "results where LXC beats KVM, one tenant": (
        "share of groups in which the container is faster, of " + _SHARES.format(n=1),
        _share(1, _faster),
        (),
    ),
    "results where LXC beats KVM, two tenants": (
        "share of groups in which the container is faster, of " + _SHARES.format(n=2),
        _share(2, _faster),
        (),
    ),
    "results with no significant difference, two tenants": (
        "share of groups without a significant difference, of " + _SHARES.format(n=2),
        _share(2, _alike),
        (),
    ),
}
_UNITS = {"percent": (1.0, "%"), "Gbit/s": (1e9, "bit/s")}


def _row(fields: Fields) -> Row:
    answer, find, alike = _ANSWERS[fields["what"]]
    factor, unit = _UNITS[fields["unit"]]
    links = f", links: {fields['nics']}" if fields["nics"] else ""
    return Row(
        what=f"{fields['what']}{links}, {fields['environment']}",
        value=float(fields["value"]) * factor,
        unit=unit,
        source=fields["source"],
        answer=answer,
        find=find,
        alike=alike,
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="nic_aggregation",
    title="Network links used as one, and LXC against KVM",
    differs="Maliszewski 2019 ran NPB class C with 16 processes on two hosts with up to four "
    "Gigabit links under LXC, LXD and KVM. Here hosts are namespaces of one machine and links are "
    "shaped, so processes share its processors.",
    rows=_rows,
)
