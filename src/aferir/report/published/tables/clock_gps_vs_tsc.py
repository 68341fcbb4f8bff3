"""Loops timed by the processor's counter and by a GPS card: Dutra 2015, 7.2.1."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.published.finding import place
from aferir.report.published.model import Condition, Fields, Row, Table

_US = 1e-6


def _rows_of(fields: Fields) -> list[Row]:
    additions = int(fields["adds_in_loop"])
    by_counter = Row(
        what=f"{additions:,} additions by the TSC",
        value=float(fields["tsc_mean_us"]) * _US,
        unit="s",
        sd=float(fields["tsc_sd_us"]) * _US,
        source=fields["source"],
        answer='`loop_s` of the program `clock` with `study = "stability"`, by RVEC, at '
        f"{additions:,} additions",
        find=place(
            "clock",
            metric="loop_s",
            at=float(additions),
            label=lambda label: label.startswith("rvec "),
        ),
    )
    difference = Row(
        what=f"{additions:,} additions by GPS, less those by the TSC",
        value=float(fields["difference_us"]) * _US,
        unit="s",
        source=fields["source"],
        answer=f"`loop_difference_s` of that study at {additions:,} additions, against the "
        "references that the machine has; only a GPS card over PCIe costs what theirs costs",
        find=place("clock", metric="loop_difference_s", at=float(additions)),
        alike=(Condition("reference", "a GPS card over PCIe"),),
    )
    return [by_counter, difference]


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [row for fields in table for row in _rows_of(fields)]


TABLE = Table(
    name="clock_gps_vs_tsc",
    title="Loops timed by two clocks",
    differs="Dutra 2015 measured on Xeon E5410 processors. How long a loop takes is the "
    "processor's; that the difference stays the same for longer loops is what the table says.",
    rows=_rows,
)
