"""Corrections by NTP: Dutra 2015, Table A.1."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.published.finding import sample
from aferir.report.published.model import Condition, Fields, Row, Table

_US = 1e-6


def _row(fields: Fields) -> Row:
    interval = float(fields["interval_s"])
    return Row(
        what=f"mean correction, one query every {interval:g} s",
        value=float(fields["mean_correction_us"]) * _US,
        unit="s",
        sd=float(fields["sd_us"]) * _US,
        source=fields["source"],
        answer='`correction_mean_s` of the program `clock` with `study = "ntp"` and '
        f"`interval_s = {interval:g}`",
        find=sample("clock", metric="correction_mean_s"),
        pick=(Condition("interval_s", interval, 0.0),),
        alike=(Condition("rate_ppm", 17.0, 17.0), Condition("server", "chronyd", "chronyd")),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="ntp_corrections",
    title="Corrections that NTP applies",
    differs="Dutra 2015 started an NTP client anew for each correction, of a real clock over a "
    "network. Here both ends of an exchange are on one host, and the client's clock is 17 ppm "
    "fast, which explains the published growth with the interval.",
    rows=_rows,
)
