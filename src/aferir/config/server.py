"""`[server]`, which costs of I/O are reckoned for."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.config.fields import Fields
from aferir.config.problems import Problems
from aferir.model.plan import HostLimits, ServerSpec
from aferir.model.words import shown

_SERVER_KEYS = ("peak_w", "peak_error_w", "idle", "results_per_day")
_MOST_IDLE = 5


def read_server(
    table: Mapping[str, object], host: HostLimits, problems: Problems
) -> ServerSpec | None:
    """What `[server]` says of its power; None where the file has no such table."""
    if not table:
        return None
    fields = Fields(table, "server", problems)
    fields.only(_SERVER_KEYS)
    fields.require("peak_w", "peak_w = 400")
    peak = fields.number("peak_w", 0.0, 1e6)
    error = fields.number("peak_error_w", 0.0, 1e6)
    per_day = fields.number("results_per_day", 0.0, 1e9)
    idle = table.get("idle", [0.0, 0.7])
    if not isinstance(idle, list) or not 1 <= len(idle) <= _MOST_IDLE or not all(map(_share, idle)):
        fields.wrong(
            "idle",
            f"{shown(idle)} is no list of shares of the peak power",
            "write 1 to 5 numbers from 0 to below 1: `idle = [0, 0.7]`",
        )
        return None
    if peak is None:
        return None
    return ServerSpec(
        cores=len(host.cpus),
        peak_w=peak,
        peak_error_w=error or 0.0,
        idle_fractions=tuple(float(share) for share in idle),
        results_per_day=per_day,
    )


def _share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
