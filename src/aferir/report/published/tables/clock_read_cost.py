"""Cost of reading a clock: Dutra 2015, Table 7.2."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.published.finding import place
from aferir.report.published.model import Fields, Row, Table

_CLOCKS = {"tsc": "rdtsc", "monotonic": "CLOCK_MONOTONIC", "rvec": "rvec process"}
"""Name of each clock of the study in the program `clock`."""
_NS = 1e-9


def _row(fields: Fields) -> Row:
    name = fields["clock"]
    return Row(
        what=f"one reading of {name.upper()}, added to a loop of 5,000 additions",
        value=float(fields["mean_ns"]) * _NS,
        unit="s",
        sd=float(fields["sd_ns"]) * _NS,
        source=fields["source"],
        answer='`added_to_loop_s` of the program `clock` with `study = "cost"`, at the clock '
        f"`{_CLOCKS[name]}`",
        find=place("clock", metric="added_to_loop_s", at=_CLOCKS[name]),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="clock_read_cost",
    title="Cost of one reading of a clock",
    differs="Dutra 2015 measured on Xeon E5410 processors, with RVEC as a system call. Here RVEC "
    "takes none.",
    rows=_rows,
)
