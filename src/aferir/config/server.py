"""Reads the table `[server]`, which describes the server whose costs of I/O are calculated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from aferir.config.fields import Fields
from aferir.config.problems import Problems
from aferir.model.parameters import number, several
from aferir.model.plan import HostLimits, ServerSpec

MOST_IDLE = 5
_Share = Annotated[float, number("of the power with all cores busy", 0.0, 0.999)]


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the `[server]` section."""

    peak_w: Annotated[
        float,
        number("of the server with all cores busy, without storage", above=0.0, most=1e6, unit="W"),
    ]
    peak_error_w: Annotated[float, number("its standard uncertainty", 0.0, 1e6, unit="W")] = 0.0
    idle: Annotated[
        tuple[_Share, ...], several("1 to 5 powers of the idle server as shares of `peak_w`")
    ] = (0.0, 0.7)
    results_per_day: (
        Annotated[
            float,
            number(
                "how often a year's sum has each program run",
                above=0.0,
                most=1e9,
                unset="as many as the baseline can",
            ),
        ]
        | None
    ) = None


def read_server(
    table: Mapping[str, object], host: HostLimits, problems: Problems
) -> ServerSpec | None:
    """Server of the file; None if there is no such table, or if it is wrong."""
    if not table:
        return None
    fields = Fields(table, "server", problems)
    values = fields.read(Server)
    if "peak_w" not in values:
        return None
    server = Server(**values)
    if len(server.idle) > MOST_IDLE:
        said = f"has {len(server.idle)} shares of the peak power"
        fields.wrong("idle", said, "write 1 to 5 numbers from 0 to below 1: `idle = [0, 0.7]`")
    return ServerSpec(
        cores=len(host.cpus),
        peak_w=server.peak_w,
        peak_error_w=server.peak_error_w,
        idle_fractions=server.idle,
        results_per_day=server.results_per_day,
    )
