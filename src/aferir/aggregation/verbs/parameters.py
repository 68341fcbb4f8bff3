"""Parameters of the verbs that use a test network, in addition to those of experiments."""

from __future__ import annotations

from typing import Annotated

from aferir.aggregation.program import AggregationParameters, LinkParameters
from aferir.model.network import METHODS, Network, Program
from aferir.model.parameters import number, told, whole

_Delay = Annotated[float, number("of each link, one way", 0.0, 10_000.0, unit="ms")]


class MeasureParameters(AggregationParameters, frozen=True, kw_only=True):
    """Options of `aferir aggregate measure`."""

    method: Annotated[str, told("how the links are used as one", words=METHODS)] = "single"
    delay_ms: _Delay = 0.0
    program: Annotated[
        Program,
        told("ours, which verifies every byte; iperf3; two ranks of Open MPI"),
    ] = "network-stream"


class TuneParameters(LinkParameters, frozen=True, kw_only=True):
    """Options of `aferir aggregate tune`."""

    rate_mbit: Annotated[int, whole("rate of each link", 1, 100_000, unit="Mbit/s")] = 50
    seconds: Annotated[float, number("how long to send", 0.1, 3600.0, unit="s")] = 2.0
    delay_ms: _Delay = 0.0


def network_of(
    chosen: MeasureParameters | TuneParameters, *, hosts: int = 2, containers: int = 0
) -> Network:
    """The network that the parameters describe."""
    return Network(
        hosts=hosts,
        links=chosen.links,
        rate_bits=chosen.rate_mbit * 1_000_000,
        delay_s=chosen.delay_ms * 1e-3,
        containers=containers,
    )
