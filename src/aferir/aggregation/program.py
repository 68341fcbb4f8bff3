"""A test network with aggregated links: how much arrives, when, and over which link.

The program runs `aferir aggregate measure`, which creates the network, sends, and removes it again.
It runs in the native environment; hosts are namespaces inside it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.errors import ProgramError
from aferir.machine import bonding, packages, privileges
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.network import (
    METHODS,
    MODES,
    MOST_CONTAINERS,
    MOST_HOSTS,
    MOST_LINKS,
    Event,
    one_after_another,
)
from aferir.model.parameters import duration, told, whole
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.kernels import document, kernel_path, read_figures

PROGRAM = "aggregation"
_STREAM = "network-stream"
_NEEDED = ("ip", "tc", "ethtool")
_BASE = 64 * 2**20
_GUEST = 600 * 2**20


class LinkParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a test network, shared by all programs that measure on a test network."""

    links: Annotated[int, whole("links of each host", 1, MOST_LINKS)] = 4
    rate_mbit: Annotated[int, whole("rate of each link", 1, 100_000, unit="Mbit/s")] = 100
    seconds: Annotated[float, duration("how long to send", 0.1, 3600.0)] = 3.0
    network: Annotated[
        Literal["auto", "namespaces", "guest", "guests"],
        told(
            "where hosts are: in this kernel, in that of one guest, or a guest each; `auto`: a"
            " guest where this kernel has no bonding and it is needed"
        ),
    ] = "auto"


class AggregationParameters(LinkParameters, frozen=True, kw_only=True):
    """Parameters of the traffic over aggregated links."""

    method: Annotated[str, told("how the links are used as one", words=METHODS)]
    hosts: Annotated[int, whole("hosts of the test network", 2, MOST_HOSTS)] = 2
    pattern: Annotated[
        Literal["pair", "fan-out", "fan-in"],
        told("host1 to host2, host1 to all others, or all others to host1"),
    ] = "pair"
    connections: Annotated[int, whole("connections of each tenant and pair of hosts", 1, 256)] = 1
    tenants: Annotated[int, whole("programs that transfer concurrently", 1, 16)] = 1
    containers: Annotated[
        int, whole("containers on each host, bridged over its links", 0, MOST_CONTAINERS)
    ] = 0
    packets_per_slave: (
        Annotated[
            int,
            whole(
                "packets that balance-rr sends on one link before the next", 0, 65_535, unset="1"
            ),
        ]
        | None
    ) = None
    hash_policy: (
        Annotated[
            Literal["layer2", "layer2+3", "layer3+4"],
            told(
                "part of a packet's header that chooses its link, for balance-xor and 802.3ad",
                unset="layer3+4",
            ),
        ]
        | None
    ) = None
    lacp_rate: (
        Annotated[Literal["slow", "fast"], told("rate of LACP messages, for 802.3ad", unset="fast")]
        | None
    ) = None
    tuned: Annotated[
        bool, told("set the bond as `aferir aggregate plan` advises for balance-rr")
    ] = False
    cut_at: (
        Annotated[float, duration("cut link eth0 of host1", 0.0, 3600.0, unset="never")] | None
    ) = None
    restore_at: (
        Annotated[float, duration("restore the link that was cut", 0.0, 3600.0, unset="never")]
        | None
    ) = None
    cut_each: Annotated[
        bool,
        told(
            "then cut every other link, one after another, for as long, so that the one that"
            " carries the traffic is among them"
        ),
    ] = False


class _Curve(msgspec.Struct, frozen=True):
    name: str
    at_s: tuple[float, ...]
    bps: tuple[float, ...]


class _Figures(msgspec.Struct, frozen=True):
    """Output of `aferir aggregate measure --json`; see `aferir.aggregation.measure.Result`."""

    duration_s: float
    throughput_bps: float
    fairness: float
    sent_segments: int
    retransmitted_segments: int
    spurious_segments: int
    lost_bytes: int
    gap_s: float
    link_bytes: dict[str, int]
    moments: dict[str, float] = {}
    streams: tuple[_Curve, ...] = ()
    link_curves: tuple[_Curve, ...] = ()


class Aggregation(Program[AggregationParameters]):
    """Runs `aferir aggregate measure` with the parameters as its options."""

    name = PROGRAM
    parameters = AggregationParameters
    kinds = ("native",)

    def validate(self, parameters: AggregationParameters) -> list[Wrong]:
        """Check that links are cut before they are restored, and both while traffic is sent."""
        return _wrong_moments(parameters)

    def memory_bytes(self, parameters: AggregationParameters) -> int:
        """Memory in bytes of aferir, and of a guest if hosts may be in one."""
        bonded = parameters.method in MODES or parameters.network == "guest"
        return _BASE + (_GUEST if bonded else 0)

    def check(self) -> list[Finding]:
        """Findings on root privileges, and on the programs that create networks."""
        if not privileges.is_root():
            said = "test networks of namespaces need root"
            return [Finding(PROGRAM, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(_NEEDED):
            said = f"test networks need {', '.join(absent)}"
            return [Finding(PROGRAM, "missing", said, packages.install_command(absent))]
        return [Finding(PROGRAM, "ok", "test networks can be made")]

    def command(self, parameters: AggregationParameters) -> Command:
        """The command line.

        Errors: MissingError if network-stream was not built, or this kernel is to have bonding.
        """
        kernel_path(_STREAM)
        if parameters.network == "namespaces" and parameters.method in MODES:
            bonding.require(parameters.method)
        run = ("-m", "aferir", "aggregate", "measure", "--json")
        told = ("--parameters", document(parameters))
        return Command(Path(sys.executable), (*run, *told))

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """Throughput, retransmissions, the longest gap; traffic over time, and of each link.

        Errors: as for `Program.parse`.
        """
        try:
            figures = msgspec.convert(read_figures(stdout, PROGRAM), _Figures)
        except msgspec.ValidationError as error:
            raise ProgramError(f"`{PROGRAM}` printed no readable result: {error}") from None
        segments = max(figures.sent_segments, 1)
        links = figures.link_bytes
        return (
            Sample("duration_s", figures.duration_s, "s"),
            Sample("throughput_bps", figures.throughput_bps, "B/s"),
            Sample("retransmitted_share", figures.retransmitted_segments / segments, "1"),
            Sample("spurious_share", figures.spurious_segments / segments, "1"),
            Sample("gap_s", figures.gap_s, "s"),
            Sample("lost_bytes", float(figures.lost_bytes), "B"),
            Sample("fairness", figures.fairness, "1"),
            Series(
                metric="link_traffic_bytes",
                unit="B",
                values=tuple(float(count) for count in links.values()),
                along="link",
                at=tuple(links),
            ),
            *(_series("stream_throughput_bps", figures, curve) for curve in figures.streams),
            *(_series("link_throughput_bps", figures, curve) for curve in figures.link_curves),
        )


def events_of(parameters: AggregationParameters) -> tuple[Event, ...]:
    """Times at which links are cut and restored."""
    cut_at, restore_at = parameters.cut_at, parameters.restore_at
    if parameters.cut_each and cut_at is not None and restore_at is not None:
        return one_after_another(parameters.links, cut_at, restore_at)
    events = [] if cut_at is None else [Event(cut_at, 0)]
    if restore_at is not None:
        events.append(Event(restore_at, 0, up=True))
    return tuple(events)


def _wrong_moments(parameters: AggregationParameters) -> list[Wrong]:
    cut_at, restore_at = parameters.cut_at, parameters.restore_at
    if restore_at is not None and (cut_at or parameters.seconds) >= restore_at:
        return [Wrong("restore_at", "the link is not cut before it", "set cut_at, and earlier")]
    if parameters.cut_each and (cut_at is None or restore_at is None):
        said = "it is not said when the first link is cut, and works again"
        return [Wrong("cut_each", said, "set cut_at and restore_at")]
    if parameters.cut_each and (last_s := events_of(parameters)[-1].at_s) >= parameters.seconds:
        said = f"the last link would work again after {last_s:g} s"
        return [Wrong("cut_each", said, f"set seconds, and to more than {last_s:g}")]
    return []


def _series(metric: str, figures: _Figures, curve: _Curve) -> Series:
    return Series(
        metric=metric,
        unit="B/s",
        values=curve.bps,
        along="time_s",
        along_unit="s",
        at=curve.at_s,
        label=curve.name,
        moments=figures.moments,
    )


AGGREGATION = Aggregation()
