"""One-shot synchronisation of clocks: Dutra 2015, 6.3, 7.3 and 7.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aferir.report.published.finding import sample
from aferir.report.published.model import Condition, Fields, Row, Table

_UNITS: Mapping[str, tuple[float, str]] = {
    "messages": (1.0, "1"),
    "ms": (1e-3, "s"),
    "us": (1e-6, "s"),
    "ns": (1e-9, "s"),
}
"""Factor and base unit into which a row's unit is converted."""
_UDP = (
    "`aferir clock sync HOST` prints it for two hosts, and `aferir clock check` for this one; it "
    "is not a program of an experiment, so no run has it"
)
_CHOSEN = "a choice of the algorithm, not a result: "


def _nothing(why: str) -> Callable[[Fields], Row]:
    def row(fields: Fields) -> Row:
        return _row(fields, why)

    return row


def _of_mpi(metric: str, processes: int | None = None) -> Callable[[Fields], Row]:
    with_ = f" with `processes = {processes}`" if processes else ""

    def row(fields: Fields) -> Row:
        pick = (Condition("processes", processes, 2),) if processes else ()
        made = _row(fields, f"`{metric}` of the program `mpi-clock`{with_}")
        return Row(
            what=made.what,
            value=made.value,
            unit=made.unit,
            source=made.source,
            answer=made.answer,
            find=sample("mpi-clock", metric=metric),
            pick=pick,
        )

    return row


_ROWS: Mapping[str, Callable[[Fields], Row]] = {
    "messages to synchronise one node": _nothing(_UDP),
    "time to synchronise one node (UDP)": _nothing(_UDP),
    "half RTT to node A": _nothing(_UDP),
    "half RTT to node B": _nothing(_UDP),
    "stop criterion K (variation of half RTT)": _nothing(
        _CHOSEN + "`spread_ns` of librgap, 500 here too"
    ),
    "time per node inside MPI_Init with 8 processes": _of_mpi("sync_s", 8),
    "time per node inside MPI_Init with 32 processes": _of_mpi("sync_s", 32),
    "messages in MPI synchronisation": _of_mpi("exchanges"),
    "first messages discarded": _nothing(_CHOSEN + "`discard` of librgap, 5 here too"),
    "smallest RTTs used for the standard deviation": _nothing(
        _CHOSEN + "`smallest` of librgap, 20 here too; 4 where MPI carries the messages"
    ),
}


def _row(fields: Fields, answer: str) -> Row:
    factor, unit = _UNITS[fields["unit"]]
    return Row(
        what=fields["what"],
        value=float(fields["value"]) * factor,
        unit=unit,
        source=fields["source"],
        answer=answer,
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_ROWS[fields["what"]](fields) for fields in table]


TABLE = Table(
    name="rgap_sync",
    title="One-shot synchronisation of clocks",
    differs="Dutra 2015 synchronised hosts over Gigabit Ethernet. Here each rank acts as a host of "
    "its own on one host, so messages do not cross a network.",
    rows=_rows,
)
