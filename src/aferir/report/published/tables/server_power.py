"""Power of one server: Dutra 2015, 5.5."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.published.model import Fields, Ours, Row, Seen, Table
from aferir.statistics.estimates import Estimate


def _peak(seen: Seen) -> list[Ours]:
    """The power of the run's `[server]`, which the user measured or read in a data sheet."""
    study = seen.evaluation.io
    if study is None:
        return []
    server = study.server
    return [
        Ours(
            environment="",
            group="[server]",
            emulated=False,
            figure=Estimate(value=server.peak_w, error=server.peak_error_w),
            conditions={"cores": server.cores},
        )
    ]


def _row(fields: Fields) -> Row:
    busy = fields["state"] == "busy"
    return Row(
        what=f"{fields['state']}, {float(fields['cpu_percent']):g} % CPU, "
        f"{float(fields['ups_load_percent']):g} % of the UPS",
        value=float(fields["power_w"]),
        unit="W",
        source=fields["source"],
        answer="`peak_w` of `[server]`, which `aferir power calibrate` measures"
        if busy
        else "`aferir power calibrate` measures it; a run only has `idle` of `[server]`, several "
        "shares of the peak that are assumed",
        find=_peak if busy else None,
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="server_power",
    title="Power of one server",
    differs="Dutra 2015 read the load of a UPS of 865 W in front of one server, 24,020 samples "
    "0.5 s apart.",
    rows=_rows,
)
