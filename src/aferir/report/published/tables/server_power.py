"""Power of one server: Dutra 2015, 5.5."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aferir.model.plan import Parameter
from aferir.report.model import CellResult
from aferir.report.published.finding import cells, mean, ours
from aferir.report.published.model import Condition, Fields, Finder, Ours, Row, Seen, Table

_WATCH = re.compile(r"\bpower watch (?P<source>[a-z]+)")
"""Start of the command that reads a source of power, as `experiments/server-power.toml` has it."""
_UPS = ("nut", "apcupsd")
"""Sources whose readings are those of a UPS, as the published ones are."""
_BUSY, _IDLE = 0.95, 0.05
"""Used share of all CPUs from which on, and up to which, a server counts as busy and as idle. Over
0.05 of it the published power changes by 8.1 W, less than one step of the published UPS.
"""


def _watched(load: bool) -> Finder:
    """Make a finder of mean powers that `aferir power watch` read, with or without `--load`."""

    def find(seen: Seen) -> list[Ours]:
        found = []
        for cell in cells(seen, "command"):
            command = str(cell.parameters.get("command", ""))
            source, power = _WATCH.search(command), mean(cell, "power_w")
            if source is not None and power is not None and ("--load" in command) == load:
                meter = "UPS" if source["source"] in _UPS else source["source"]
                found.append(ours(seen, cell, power, meter=meter, CPUs=_use(cell)))
        return found

    return find


def _use(cell: CellResult) -> Parameter:
    """State of the CPUs during the readings: `busy`, `idle`, or the used share in percent."""
    used = mean(cell, "cpu_used")
    if used is None:
        return "unknown"
    if used.value >= _BUSY:
        return "busy"
    return "idle" if used.value <= _IDLE else f"{100 * used.value:.0f} % used"


def _row(fields: Fields) -> Row:
    state = fields["state"]
    return Row(
        what=f"{state}, {float(fields['cpu_percent']):g} % CPU, "
        f"{float(fields['ups_load_percent']):g} % of the UPS",
        value=float(fields["power_w"]),
        unit="W",
        source=fields["source"],
        answer="`power_w` of the program `command` that carries out `aferir power watch`, "
        f"{'with' if state == 'busy' else 'without'} `--load`, as `server-power.toml` does",
        find=_watched(state == "busy"),
        alike=(Condition("meter", "UPS"), Condition("CPUs", state)),
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
