"""Reads the further services of a workload: a name, and words `key=value` for load and SLA.

One batch program runs beside all services of a workload, under one policy (see `several`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from aferir.colocation.settings import SLA_PATTERN, Sla
from aferir.model.checking import convert
from aferir.model.parameters import number, text, told

ServiceName = Literal["nginx", "memcached", "elasticsearch", "opensearch"]
"""Services that aferir starts and sends requests to."""


class Further(msgspec.Struct, frozen=True, kw_only=True):
    """One further service, with a load and an SLA of its own."""

    service: Annotated[ServiceName, told("service to which its load sends requests")]
    load: Annotated[float, number("load as a share of the workload's `load_of`", 0.01, 1.5)] = 0.5
    rate: Annotated[
        float, number("rate at a load of 1; 0: find it first", 0.0, 1e6, unit="1/s")
    ] = 0.0
    sla: Annotated[
        Sla,
        text("a quantile and its bound", "p95=100ms", parse=Sla.parse, pattern=SLA_PATTERN),
    ] = Sla(0.95, 0.1)

    def __str__(self) -> str:
        """The service as `parse` reads it, such as `memcached load=0.5 sla=p95=10ms`."""
        rate = f" rate={self.rate:g}" if self.rate else ""
        return f"{self.service} load={self.load:g}{rate} sla={self.sla}"


def parse(written: str) -> Further:
    """Parse a service written like `memcached load=0.5 sla=p95=10ms`.

    Errors: ValueError with all that is wrong with it.
    """
    name, *words = written.split()
    pairs = (word.partition("=") for word in words)
    table = {"service": name, **{key: _value(value) for key, _, value in pairs}}
    values, wrong = convert(Further, table)
    if values is None:
        said = "; ".join(f"`{one.key}` {one.message}: {one.remedy}" for one in wrong)
        raise ValueError(f"is no service with its load: {said}")
    return values


def _value(text: str) -> str | float:
    """The word as a number, or as it is if it is none."""
    try:
        return float(text)
    except ValueError:
        return text
