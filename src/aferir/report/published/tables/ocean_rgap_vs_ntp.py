"""An ocean model with clocks set once and with NTP: Dutra 2015, 7.4.1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aferir.report.published.finding import cells, mean, ours, sample
from aferir.report.published.model import Condition, Fields, Ours, Row, Seen, Table
from aferir.statistics.estimates import quotient

_PROGRAM = "ocean"
_METRIC = "ntp_like_difference_s"


def _share(seen: Seen) -> Iterator[Ours]:
    for cell in cells(seen, _PROGRAM):
        more, whole = mean(cell, _METRIC), mean(cell, "duration_s")
        if more is not None and whole is not None and whole.value > 0:
            yield ours(seen, cell, quotient(more, whole).scaled(100))


def _row(fields: Fields) -> Row:
    processes = int(fields["processes"])
    seconds = float(fields["difference_s"])
    alone = fields["rgap_s"]
    value, unit = (100 * seconds / float(alone), "%") if alone else (seconds, "s")
    over = " over the duration with RGAP" if alone else ""
    return Row(
        what=f"{processes} processes, what NTP adds"
        + (f" ({seconds:g} s of {float(alone):g} s)" if alone else ", whole run"),
        value=value,
        unit=unit,
        source=fields["source"],
        answer=f"`{_METRIC}`{over} of the program `{_PROGRAM}` with `processes = {processes}`",
        find=(lambda seen: [*_share(seen)]) if alone else sample(_PROGRAM, metric=_METRIC),
        pick=(Condition("processes", processes, 2),),
        alike=(Condition("scale", 1, 32),),
    )


def _rows(table: Sequence[Fields]) -> list[Row]:
    return [_row(fields) for fields in table]


TABLE = Table(
    name="ocean_rgap_vs_ntp",
    title="What NTP costs an ocean model",
    differs="Dutra 2015 ran POP on 12288 x 8192 cells on four hosts of 12 cores, with an NTP "
    "daemon that woke every 10 s. Here it is the model's solver, and daemons of ours, whose "
    "interval is scaled with the run.",
    rows=_rows,
)
