"""Studies of clocks: strictness, cost, stability, corrections, order, noise, rates, a stop rule.

After Dutra 2015, chapter 7 and appendix A; the native program `clock-study` measures and names its
own figures (docs/guides/clock-studies.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.clock import rule_over_hosts
from aferir.errors import ProgramError
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import duration, names, number, told, whole
from aferir.model.plan import EnvironmentKind
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command, Program
from aferir.programs.kernels import check_kernels, kernel_path, options, positive, read_figures

PROGRAM = "clock-study"
_MEMORY = 32 * 2**20
_HOUR_S = 3600.0


_DAY_S = 24 * _HOUR_S
_LEAST_LOOK_S = 1e-4
_USUALLY_BUSY_S = 5e-4
_LEAST_CHANGE = 0.05
"""Smallest relative difference of two rates at which the study can tell which one RVEC uses."""


class ClockParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one study; one that is not set has the program's default for the study."""

    study: Annotated[
        Literal["ecp", "cost", "stability", "ntp", "order", "noise", "rule", "rate"],
        told("what is measured"),
    ]
    runs: (
        Annotated[
            int,
            whole(
                "ecp: of each clock; cost: rounds; rule: looks; rate: changes",
                *(1, 10**6),
                unset="100; 200; 20; 4",
            ),
        ]
        | None
    ) = None
    blocks: Annotated[int, whole("ecp: of a run", 1, 10**8, unset="5000")] | None = None
    movement: (
        Annotated[
            Literal["pinned", "migrated", "handed-over", "plugged"],
            told(
                "ecp: of the thread that reads the clock; `plugged`: its core goes off line and "
                "comes back, in guests alone",
                unset="pinned",
            ),
        ]
        | None
    ) = None
    seconds: (
        Annotated[
            float,
            duration(
                "stability: to follow the clocks for; order: that messages are spread over; rule: "
                "longest look",
                *(0.1, 31 * _DAY_S),
                unset="10; 3; 10",
            ),
        ]
        | None
    ) = None
    interval_s: (
        Annotated[
            float,
            duration(
                "stability: between two looks; ntp and order: between two queries; rate: between "
                "two changes",
                *(0.0, _DAY_S),
                unset="0.01; 0; 0.1; 8",
            ),
        ]
        | None
    ) = None
    queries: (
        Annotated[int, whole("ntp: of the server; the first sets the clock", 2, 10**6, unset="20")]
        | None
    ) = None
    rate_ppm: (
        Annotated[
            float,
            number(
                "ntp, order and rule: of the client's clock", -1000.0, 1000.0, unset="17; 30; 30"
            ),
        ]
        | None
    ) = None
    correction: (
        Annotated[Literal["step", "slew"], told("ntp and order: how it is set", unset="step")]
        | None
    ) = None
    server: (
        Annotated[Literal["chronyd", "own"], told("ntp: server that is queried", unset="chronyd")]
        | None
    ) = None
    messages: Annotated[int, whole("order: both ways together", 10, 10**7, unset="2000")] | None = (
        None
    )
    offset_s: (
        Annotated[
            float,
            number("order and rule: of the client's clock", -_HOUR_S, _HOUR_S, unset="0.001"),
        ]
        | None
    ) = None
    discard: (
        Annotated[int, whole("rule: first exchanges that are not counted, D", 0, 1000, unset="5")]
        | None
    ) = None
    deviation_s: (
        Annotated[
            float,
            duration(
                "rule: standard deviation of the 20 smallest round trips that ends a look, K",
                *(1e-9, 1.0),
                unset="5e-7",
            ),
        ]
        | None
    ) = None
    stamps: (
        Annotated[
            Literal["kernel", "program"],
            told("rule: what takes time stamps of messages", unset="kernel"),
        ]
        | None
    ) = None
    clients: (
        Annotated[int, whole("rule: of one server at once, each a host", 1, 2, unset="1")] | None
    ) = None
    ratio: (
        Annotated[
            float,
            number("rate: of the counter's second rate to its first", 0.1, 10.0, unset="0.5"),
        ]
        | None
    ) = None
    quanta: Annotated[int, whole("noise: of work", 100, 10**8, unset="5000")] | None = None
    quantum_s: (
        Annotated[float, duration("noise: one, at the best speed seen", 1e-5, 1.0, unset="0.001")]
        | None
    ) = None
    priority: (
        Annotated[
            Literal["normal", "realtime"],
            told("noise: `realtime` leaves out ordinary programs; takes root", unset="normal"),
        ]
        | None
    ) = None
    noise_period_s: (
        Annotated[
            float,
            duration("noise: plant a process that works so often", 0.0, _HOUR_S, unset="none"),
        ]
        | None
    ) = None
    noise_busy_s: (
        Annotated[float, duration("noise: for so long", 0.0, _HOUR_S, unset="0.0005")] | None
    ) = None


STUDIES: Mapping[str, tuple[str, ...]] = {
    "ecp": ("runs", "blocks", "movement"),
    "cost": ("runs",),
    "stability": ("seconds", "interval_s"),
    "ntp": ("interval_s", "queries", "rate_ppm", "correction", "server"),
    "order": ("messages", "seconds", "interval_s", "rate_ppm", "offset_s", "correction"),
    "noise": ("quanta", "quantum_s", "priority", "noise_period_s", "noise_busy_s"),
    "rule": (
        *("runs", "discard", "deviation_s", "seconds", "stamps", "clients"),
        *("rate_ppm", "offset_s"),
    ),
    "rate": ("runs", "interval_s", "ratio"),
}
"""Parameters of each study; defaults are the program's."""


class _Value(msgspec.Struct, frozen=True):
    metric: Annotated[str, msgspec.Meta(min_length=1)]
    unit: str
    value: float


class _Doubt(msgspec.Struct, frozen=True):
    code: str
    message: str
    advice: str


class _Figures(msgspec.Struct, frozen=True):
    samples: tuple[_Value, ...]
    series: tuple[Series, ...]
    doubts: tuple[_Doubt, ...]


class Clock(Program[ClockParameters]):
    """Program with one study, selected by `study`; its other parameters depend on the study."""

    name = "clock"
    parameters = ClockParameters

    def validate(self, parameters: ClockParameters) -> list[Wrong]:
        """Report parameters that the chosen study does not have."""
        known = STUDIES[parameters.study]
        wrong = [
            Wrong(
                key,
                f"the study {parameters.study} has none",
                f"remove it, or use {', '.join(known)}",
            )
            for key in names(ClockParameters)[1:]
            if key not in known and getattr(parameters, key) is not None
        ]
        return wrong or _out_of_step(parameters)

    def over_hosts(self, parameters: ClockParameters) -> list[Wrong]:
        """Report errors of clocks that cannot be planted in real hosts' clocks."""
        if parameters.study != "rule":
            return []
        return [
            Wrong(key, "means nothing over several hosts: they have real clocks", "leave it out")
            for key in ("rate_ppm", "offset_s")
            if getattr(parameters, key) is not None
        ]

    def kinds_of(self, parameters: ClockParameters) -> tuple[EnvironmentKind, ...]:
        """Only a guest if the study takes a core off line, as the host needs its cores."""
        return ("vm",) if parameters.movement == "plugged" else self.kinds

    def memory_bytes(self, parameters: ClockParameters) -> int:
        """Memory in bytes of the program and of its stored samples."""
        return _MEMORY + 24 * (parameters.quanta or 0)

    def check(self) -> list[Finding]:
        """Finding: whether the program is installed."""
        return check_kernels(self.name, (PROGRAM,))

    def command(self, parameters: ClockParameters) -> Command:
        """Command of the study. Errors: MissingError if the program was not built."""
        path, words = kernel_path(PROGRAM), options(parameters, STUDIES[parameters.study])
        there = _over_hosts(path, parameters) if parameters.study == "rule" else None
        return Command(path, (parameters.study, *words), there=there)

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """`duration_s`, with the study's samples, series and warnings.

        Errors: as in `Program.parse`.
        """
        parts = rule_over_hosts.by_client(stdout)
        if not parts:
            samples, figures = _read(stdout)
            doubts = (Warning(one.code, one.message, one.advice) for one in figures.doubts)
            return (*samples, *figures.series, *doubts)
        read = {name: _read(text) for name, text in parts.items()}
        return (
            *rule_over_hosts.samples_together([samples for samples, _ in read.values()]),
            *rule_over_hosts.labelled({name: one.series for name, (_, one) in read.items()}),
        )


def _read(stdout: str) -> tuple[tuple[Sample, ...], _Figures]:
    """Samples of one line, `duration_s` first, and all its figures. Errors: ProgramError."""
    line = read_figures(stdout, PROGRAM)
    duration = Sample("duration_s", positive(line, "duration_s"), "s")
    try:
        figures = msgspec.convert(line, _Figures)
    except (msgspec.ValidationError, ValueError) as error:
        raise ProgramError(f"{PROGRAM} printed a figure that is none: {error}") from None
    return (duration, *(Sample(o.metric, o.value, o.unit) for o in figures.samples)), figures


def _over_hosts(path: Path, parameters: ClockParameters) -> Command:
    """Command of the study `rule` with the server on the first host, and clients on the others."""
    return rule_over_hosts.command(
        path,
        parameters.clients or 1,
        server=options(parameters, ("stamps",)),
        client=options(parameters, ("runs", "discard", "deviation_s", "seconds", "stamps")),
    )


def _out_of_step(parameters: ClockParameters) -> list[Wrong]:
    interval_s = parameters.interval_s
    if (
        parameters.study == "stability"
        and interval_s is not None
        and not _LEAST_LOOK_S <= interval_s <= _HOUR_S
    ):
        remedy = f"write a duration from {_LEAST_LOOK_S:g} s to 1 h"
        return [Wrong("interval_s", f"{interval_s:g} is out of range", remedy)]
    if parameters.study == "rate":
        return _unchanging(parameters)
    period, busy = parameters.noise_period_s, parameters.noise_busy_s
    if period and period <= (busy or _USUALLY_BUSY_S):
        return [
            Wrong(
                "noise_busy_s", "is as long as noise_period_s", "write less, or plant more seldom"
            )
        ]
    return []


def _unchanging(parameters: ClockParameters) -> list[Wrong]:
    """Report changes of rate that the study could not see."""
    wrong = []
    if parameters.interval_s == 0:
        wrong.append(Wrong("interval_s", "is 0", "leave some seconds between two changes"))
    if parameters.ratio is not None and abs(parameters.ratio - 1) < _LEAST_CHANGE:
        said = f"{parameters.ratio:g} is too little of a change"
        wrong.append(Wrong("ratio", said, "write at most 0.95, or at least 1.05"))
    return wrong


CLOCK = Clock()
