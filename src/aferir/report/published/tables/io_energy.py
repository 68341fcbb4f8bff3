"""Cycles and energy of I/O: Akram 2012."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from aferir.report.model import CellResult, IoCell, IoStudy
from aferir.report.published.finding import cells, measured_in, ours
from aferir.report.published.model import Condition, Fields, Finder, Ours, Row, Seen, Table
from aferir.statistics.estimates import Estimate, mean_of, quotient
from aferir.statistics.io_cost import Uncertain

_UNITS = {"percent": "%", "ratio": "1", "W": "W"}
_IDLE_AT_PEAK = 0.7
_CORES = 1000


class _Pair(msgspec.Struct, frozen=True):
    """Costs of one cell, and of the cell that it is compared with."""

    cell: CellResult
    cost: IoCell
    other: IoCell


_Measure = Callable[[IoStudy, IoCell], Uncertain | None]


def _cpio(_: IoStudy, cell: IoCell) -> Uncertain:
    return cell.cpio


def _energy(idle: float) -> _Measure:
    """Make a measure: the energy of an operation at the idle power; None if the run lacks that."""

    def measure(study: IoStudy, cell: IoCell) -> Uncertain | None:
        fractions = study.server.idle_fractions
        return cell.eio_j[fractions.index(idle)] if idle in fractions else None

    return measure


def _estimate(one: Uncertain, n: int) -> Estimate:
    return Estimate(value=one.value, error=one.error, n=n)


def _costs(seen: Seen, *programs: str) -> Iterator[tuple[CellResult, IoCell]]:
    """Cells of the programs, or of all programs if none is named, each with its costs of I/O."""
    study = seen.evaluation.io
    known = {cell.cell: cell for cell in study.cells} if study else {}
    chosen = programs or tuple({cell.program for cell in seen.evaluation.cells})
    return ((cell, known[cell.cell]) for cell in cells(seen, *chosen) if cell.cell in known)


def _pairs(seen: Seen, programs: tuple[str, ...], *, guests: int, against: int) -> Iterator[_Pair]:
    """Pairs of cells of one group and kind of disk: one in `guests` guests, the other in `against`.

    0 guests: on the host.
    """
    found = list(_costs(seen, *programs))
    of_guests = [(cell, cost) for cell, cost in found if _guests(cell) == guests]
    for cell, cost in of_guests:
        for other, below in found:
            same_disk = _is_slow(other) == _is_slow(cell)
            if _guests(other) == against and same_disk and cell.group == other.group:
                yield _Pair(cell, cost, below)


def _guests(cell: CellResult) -> int | None:
    """Number of guests that run a program; 0: it runs on the host, None: neither."""
    if measured_in(cell, "native"):
        return 0
    return int(cell.specification.get("tenants", 1)) if measured_in(cell, "vm") else None


def _added(measure: _Measure, *programs: str, guests: int = 1, against: int = 0) -> Finder:
    """Make a finder of the percentage that guests add to `measure`."""

    def find(seen: Seen) -> list[Ours]:
        study = seen.evaluation.io
        if study is None:
            return []
        found = []
        for pair in _pairs(seen, programs, guests=guests, against=against):
            above, below = measure(study, pair.cost), measure(study, pair.other)
            if above is not None and below is not None and below.value > 0:
                more = quotient(_estimate(above, pair.cost.n), _estimate(below, pair.other.n))
                found.append(ours(seen, pair.cell, more.scaled(100).plus(-100)))
        return _averaged(found)

    return find


def _of_system(*programs: str) -> Finder:
    """Make a finder of the ratio of the operating system's cycles to the programs', in percent."""

    def find(seen: Seen) -> list[Ours]:
        found = [
            ours(seen, cell, Estimate(value=100 * cost.layers["os"] / user, n=cost.n))
            for cell, cost in _costs(seen, *programs)
            if measured_in(cell, "native") and (user := cost.layers["user"]) > 0
        ]
        return _averaged(found)

    return find


def _averaged(found: Sequence[Ours]) -> list[Ours]:
    """One figure for each environment: the mean over its groups, with the error of scatter."""
    by_environment: dict[str, list[Ours]] = {}
    for one in found:
        by_environment.setdefault(one.environment, []).append(one)
    return [
        msgspec.structs.replace(
            same[0],
            figure=mean_of([one.figure for one in same]),
            group=same[0].group if len(same) == 1 else f"mean of {len(same)} groups",
        )
        for same in by_environment.values()
    ]


def _slow_over_fast(idle: float) -> Finder:
    """Make a finder of the ratio of energies of an operation: rate-limited over unlimited disk."""

    def find(seen: Seen) -> list[Ours]:
        study, measure = seen.evaluation.io, _energy(idle)
        found = []
        for cell, cost in _costs(seen):
            for other, below in _costs(seen):
                limited = _is_slow(cell) and not _is_slow(other)
                if not limited or cell.group != other.group or cell.kind != other.kind:
                    continue
                assert study is not None
                above, under = measure(study, cost), measure(study, below)
                if above is not None and under is not None and under.value > 0:
                    more = quotient(_estimate(above, cost.n), _estimate(under, below.n))
                    found.append(ours(seen, cell, more))
        return _averaged(found)

    return find


def _is_slow(cell: CellResult) -> bool:
    """True if the environment has a disk with a limit of its own."""
    return bool({"disk_bps", "disk_operations", "disk_seek"} & cell.specification.keys())


def _system_share(*, limited: bool) -> Finder:
    """Make a finder of the share of system time in the time of all cores, in percent."""

    def find(seen: Seen) -> list[Ours]:
        return _averaged(
            [
                ours(seen, cell, Estimate(value=cost.states_percent["system"], n=cost.n))
                for cell, cost in _costs(seen)
                if measured_in(cell, "native") and limited == _is_slow(cell)
            ]
        )

    return find


def _growth(seen: Seen) -> list[Ours]:
    """Ratio of the system's cycles on 1,000 cores to one core by the linear model, if projected."""
    study = seen.evaluation.io
    return [
        Ours(
            environment=one.environment,
            group=one.workload,
            emulated=False,
            figure=Estimate(value=one.linear.growth),
            conditions={"cores": one.linear.cores},
        )
        for one in (study.projections if study else ())
        if one.linear is not None and one.linear.growth is not None
    ]


def _peak(seen: Seen) -> list[Ours]:
    study = seen.evaluation.io
    if study is None:
        return []
    figure = Estimate(value=study.server.peak_w, error=study.server.peak_error_w)
    return [Ours(environment="", group="[server]", emulated=False, figure=figure, conditions={})]


_IO = "the programs of I/O with a `[server]`"
_ENERGY = "energy of an operation (idle power 0) in a guest against the host, of "
_AT_70 = f"emio with `disk_rate` over emio without it, of {_IO} with `idle = [0.7]`"
_ANSWERS: Mapping[str, tuple[str, Finder]] = {
    "energy per I/O added by the OS, average": (
        f"system cycles over user cycles on the host, mean of {_IO}",
        _of_system(),
    ),
    "energy per I/O added by the OS, Psearchy": (
        "system cycles over user cycles on the host, of the program `index`",
        _of_system("index"),
    ),
    "cycles per I/O added by one VM, average": (
        f"cycles of an operation in a guest against the host, mean of {_IO}",
        _added(_cpio),
    ),
    "energy per I/O added by one VM, average": (_ENERGY + _IO, _added(_energy(0.0))),
    "energy per I/O added by one VM, HBase": (
        _ENERGY + "the program `hbase`",
        _added(_energy(0.0), "hbase"),
    ),
    "energy per I/O added by one VM, TPC-E": (
        _ENERGY + "the program `oltp`",
        _added(_energy(0.0), "oltp"),
    ),
    "cpio change with two VMs instead of one, IOR": (
        "cycles of an operation in two guests against one, of the program `checkpoint`",
        _added(_cpio, "checkpoint", guests=2, against=1),
    ),
    "cpio change with two VMs instead of one, BLAST": (
        "cycles of an operation in two guests against one, of the program `blast`",
        _added(_cpio, "blast", guests=2, against=1),
    ),
    "overhead of one VM, Dedup": (
        "cycles of an operation in a guest against the host, of the program `dedup`",
        _added(_cpio, "dedup"),
    ),
    "overhead of two VMs, Dedup": (
        "cycles of an operation in two guests against the host, of the program `dedup`",
        _added(_cpio, "dedup", guests=2),
    ),
    "emio disk over SSD, idle power 70 % of peak": (_AT_70, _slow_over_fast(_IDLE_AT_PEAK)),
    "emio disk over SSD, idle power 0": (
        f"emio with `disk_rate` over emio without it, of {_IO} with `idle = [0]`",
        _slow_over_fast(0.0),
    ),
    "system time share, disk": (
        f"system time of all cores, mean of {_IO} with `disk_rate`",
        _system_share(limited=True),
    ),
    "system time share, SSD": (
        f"system time of all cores, mean of {_IO} without `disk_rate`",
        _system_share(limited=False),
    ),
    "system cycles per I/O at 1000 cores over 1 core, linear projection": (
        f"the linear projection of {_IO} over `environment.cpus`, where it is not refused",
        _growth,
    ),
    "server peak power assumed": ("`peak_w` of `[server]`", _peak),
}


def _row(fields: Fields) -> Row:
    answer, find = _ANSWERS[fields["what"]]
    projected = fields["what"].startswith("system cycles")
    return Row(
        what=fields["what"],
        value=float(fields["value"]),
        unit=_UNITS[fields["unit"]],
        source=fields["source"],
        answer=answer,
        find=find,
        alike=(Condition("cores", _CORES),) if projected else (),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="io_energy",
    title="Cycles and energy of I/O",
    differs="Akram 2012 ran IOR, Psearchy, Dedup, Metis, Berkeley DB, HBase, TPC-E and BLAST on "
    "servers of 8 cores with 8 disks or 24 SSDs; the file does not say at which idle power the "
    "energies of guests are. Here smaller data sets are on whatever disk the machine has.",
    rows=_rows,
)
