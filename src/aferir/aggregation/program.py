"""A test network whose links are used as one: what arrives, when, and over which link.

The program is aferir itself (`aferir aggregate measure`), which makes the network, sends and
removes it again; so it runs in the native environment, and hosts are namespaces inside.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from aferir.errors import ProgramError
from aferir.machine import packages, privileges
from aferir.model.finding import Finding
from aferir.model.network import (
    METHODS,
    MODES,
    MOST_CONTAINERS,
    MOST_HOSTS,
    MOST_LINKS,
)
from aferir.model.plan import EnvironmentKind, Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Command
from aferir.programs.kernels import kernel_path, read_figures, wrong_integer

PROGRAM = "aggregation"
_STREAM = "network-stream"
_NEEDED = ("ip", "tc", "ethtool")
_BASE = 64 * 2**20
_GUEST = 600 * 2**20
_WORDS: Mapping[str, tuple[str, ...]] = {
    "method": METHODS,
    "pattern": ("pair", "fan-out", "fan-in"),
    "hash_policy": ("layer2", "layer2+3", "layer3+4"),
    "lacp_rate": ("slow", "fast"),
    "network": ("auto", "namespaces", "guest", "guests"),
}
_WHOLE = {
    "links": (1, MOST_LINKS),
    "rate_mbit": (1, 100_000),
    "hosts": (2, MOST_HOSTS),
    "connections": (1, 256),
    "tenants": (1, 16),
    "containers": (0, MOST_CONTAINERS),
    "packets_per_slave": (0, 65_535),
}
_SECONDS = {"seconds": (0.1, 3600.0), "cut_at": (0.0, 3600.0), "restore_at": (0.0, 3600.0)}
_FLAGS = ("tuned", "cut_each")


class _Curve(msgspec.Struct, frozen=True):
    name: str
    at_s: tuple[float, ...]
    bps: tuple[float, ...]


class _Figures(msgspec.Struct, frozen=True):
    """What `aferir aggregate measure --json` prints; see `aferir.aggregation.measure.Result`."""

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


class AggregationWorkload:
    """Parameters as the options of `aferir aggregate measure`."""

    program = PROGRAM
    parameters: tuple[str, ...] = (*_WORDS, *_WHOLE, *_SECONDS, *_FLAGS)
    kinds: tuple[EnvironmentKind, ...] = ("native",)

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """All have defaults but `method`."""
        wrong = []
        for key, known in _WORDS.items():
            value = parameters.get(key, None if key == "method" else known[0])
            if value not in known:
                said = "is missing" if value is None else f"{value!r} is not known"
                wrong.append(f"{key}: {said}; choose one of {', '.join(known)}")
        for key, (least, most) in _WHOLE.items():
            wrong += wrong_integer(parameters, key, least, most)
        for key, (first, last) in _SECONDS.items():
            number = parameters.get(key, first)
            fits = isinstance(number, int | float) and not isinstance(number, bool)
            if not fits or not first <= float(number) <= last:
                wrong.append(f"{key}: {number!r} is not possible; write seconds, {first} to {last}")
        wrong += [
            f"{key}: is `true` or `false`; write one of them"
            for key in _FLAGS
            if not isinstance(parameters.get(key, False), bool)
        ]
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of aferir itself, and of a guest where the hosts may be in one."""
        bonded = parameters.get("method") in MODES or parameters.get("network") == "guest"
        return _BASE + (_GUEST if bonded else 0)

    def check(self) -> list[Finding]:
        """Root, and the programs that make networks."""
        if not privileges.is_root():
            said = "test networks of namespaces need root"
            return [Finding(PROGRAM, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(_NEEDED):
            said = f"test networks need {', '.join(absent)}"
            return [Finding(PROGRAM, "missing", said, packages.install_command(absent))]
        return [Finding(PROGRAM, "ok", "test networks can be made")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program that sends was not built."""
        kernel_path(_STREAM)
        arguments = ["-m", "aferir", "aggregate", "measure", "--json"]
        for key, value in parameters.items():
            option = f"--{key.replace('_', '-')}"
            if isinstance(value, bool):
                arguments += [option] if value else []
            else:
                arguments += [option, str(value)]
        return Command(Path(sys.executable), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample | Series, ...]:
        """Throughput, retransmissions, the longest gap; traffic over time, and of each link.

        Errors: as in `Workload.parse`.
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


AGGREGATION = AggregationWorkload()
