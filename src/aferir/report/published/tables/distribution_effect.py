"""Effect of the guests' Linux distribution: Mello 2010, Figure 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import (
    PER_PROCESSOR,
    cells,
    measured_in,
    ours,
    over_baseline,
    rate_ratio,
)
from aferir.report.published.model import Condition, Fields, Finder, Ours, Row, Seen, Table

_PROCESSORS = 8
_PROGRAM = "lattice-boltzmann"
_METRIC = "throughput_gflops"
_REFERENCE = "A64"


def _of_bits(seen: Seen) -> Iterator[Ours]:
    """Speed of the 32-bit program over that of the 64-bit one, in the same environment."""
    found = list(cells(seen, _PROGRAM))
    for cell in found:
        own = {**cell.parameters, "bits": 64}
        for other in found:
            same = other.parameters == own and other.environment == cell.environment
            figure = rate_ratio(cell, other, _METRIC) if same else None
            if cell.parameters.get("bits") == 32 and figure is not None:
                threads = cell.parameters.get("threads", 1)
                load = {PER_PROCESSOR: float(threads) / (seen.processors or 1)}
                yield ours(seen, cell, figure.scaled(100), **load)


def _of_userlands(seen: Seen) -> Iterator[Ours]:
    """Speed in a cluster with another userland over that in the baseline cluster."""
    for cell, baseline in over_baseline(seen, _PROGRAM):
        figure = rate_ratio(cell, baseline, _METRIC)
        suites = [one.specification.get("suite") for one in (cell, baseline)]
        clusters = all(measured_in(one, "cluster") for one in (cell, baseline))
        if clusters and suites[0] != suites[1] and figure is not None:
            yield ours(seen, cell, figure.scaled(100))


_OTHER_USERLAND = (
    f"`{_METRIC}` of the program `{_PROGRAM}` in an environment of the kind `cluster` with "
    "another `suite` over the baseline"
)
_ANSWERS: dict[str, tuple[str, Finder]] = {
    "A32": (
        f"`{_METRIC}` of the program `{_PROGRAM}` with `bits = 32` over that with `bits = 64`",
        lambda seen: [*_of_bits(seen)],
    ),
    "B64": (
        _OTHER_USERLAND,
        lambda seen: [*_of_userlands(seen)],
    ),
}


def _row(fields: Fields, references: dict[str, float]) -> Row:
    name, processes = fields["distribution"], fields["processes"]
    gflops, source = float(fields["gflops"]), fields["source"]
    what = f"{name}, {processes} processes ({gflops:g} Gflop/s)"
    reference = references.get(processes)
    if name == _REFERENCE or reference is None:
        said = (
            "the distribution that the others are divided by: speeds of processors of 2009 do not "
            "compare"
            if name == _REFERENCE
            else f"there is no {_REFERENCE} with {processes} processes to divide it by, and speeds "
            "of processors of 2009 do not compare"
        )
        value = gflops * 1e9
        return Row(what=what, value=value, unit="flop/s", source=source, answer=said)
    answer, find = _ANSWERS[name]
    return Row(
        what=f"{what} over {_REFERENCE}",
        value=100 * gflops / reference,
        unit="%",
        source=source,
        answer=answer,
        find=find,
        pick=(Condition(PER_PROCESSOR, int(processes) / _PROCESSORS),),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    references = {
        fields["processes"]: float(fields["gflops"])
        for fields in table
        if fields["distribution"] == _REFERENCE
    }
    return [_row(fields, references) for fields in table]


TABLE = Table(
    name="distribution_effect",
    title="Linux distributions of the guests",
    differs="Mello 2010 does not name its distributions A and B of 2009, of 32 and 64 bits, on a "
    "server with 8 processors; rows are matched by processes for each processor. Here userlands "
    "are releases of Debian under one kernel, and programs of 32 bits have threads instead of "
    "processes.",
    rows=_rows,
)
