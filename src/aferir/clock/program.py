"""Studies of clocks: strictness, read cost, stability, NTP's corrections, order, and noise.

After Dutra 2015, chapter 7 and appendix A; the native program `clock-study` measures and names its
own figures (docs/guides/clock-studies.md).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated

import msgspec

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command
from aferir.programs.kernels import check_kernels, kernel_path, positive, read_figures

PROGRAM = "clock-study"
_MEMORY = 32 * 2**20
_HOUR_S = 3600.0


class Whole(msgspec.Struct, frozen=True):
    """A whole number within bounds."""

    low: int
    high: int

    def problem(self, value: Parameter) -> str:
        """What is wrong with a value, and what to write; empty where it is right."""
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value:
            return "" if value <= self.high else self._sentence(value)
        return self._sentence(value)

    def _sentence(self, value: Parameter) -> str:
        return f"{value!r} is not possible; write a whole number from {self.low} to {self.high}"


class Number(msgspec.Struct, frozen=True):
    """A number within bounds."""

    low: float
    high: float

    def problem(self, value: Parameter) -> str:
        """As for `Whole`."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and self.low <= float(value) <= self.high:
            return ""
        return f"{value!r} is not possible; write a number from {self.low:g} to {self.high:g}"


class Word(msgspec.Struct, frozen=True):
    """One of some words."""

    words: tuple[str, ...]

    def problem(self, value: Parameter) -> str:
        """As for `Whole`."""
        if isinstance(value, str) and value in self.words:
            return ""
        close = difflib.get_close_matches(str(value)[:40].lower(), self.words, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"choose one of {', '.join(self.words)}"
        return f"{str(value)[:40]!r} is not known; {hint}"


_RATE = Number(-1000.0, 1000.0)
_INTERVAL = Number(0.0, 24 * _HOUR_S)
_CORRECTION = Word(("step", "slew"))
_SECONDS = Number(0.1, 31 * 24 * _HOUR_S)

STUDIES: Mapping[str, Mapping[str, Whole | Number | Word]] = {
    "ecp": {
        "runs": Whole(1, 10**6),
        "blocks": Whole(1, 10**8),
        "movement": Word(("pinned", "migrated", "handed-over")),
    },
    "cost": {"runs": Whole(1, 10**6)},
    "stability": {"seconds": _SECONDS, "interval_s": Number(1e-4, _HOUR_S)},
    "ntp": {
        "interval_s": _INTERVAL,
        "queries": Whole(1, 10**6),
        "rate_ppm": _RATE,
        "correction": _CORRECTION,
        "server": Word(("chronyd", "own")),
    },
    "order": {
        "messages": Whole(10, 10**7),
        "seconds": _SECONDS,
        "interval_s": _INTERVAL,
        "rate_ppm": _RATE,
        "offset_s": Number(-_HOUR_S, _HOUR_S),
        "correction": _CORRECTION,
    },
    "noise": {
        "quanta": Whole(100, 10**8),
        "quantum_s": Number(1e-5, 1.0),
        "priority": Word(("normal", "realtime")),
        "noise_period_s": Number(0.0, _HOUR_S),
        "noise_busy_s": Number(0.0, _HOUR_S),
    },
}
"""Each study with the parameters that it knows; defaults are the program's."""


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


class ClockWorkload:
    """One study, chosen by `study`; the other parameters are those of that study."""

    program = "clock"
    parameters: tuple[str, ...] = (
        "study",
        *dict.fromkeys(name for known in STUDIES.values() for name in known),
    )

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`study` is needed; a parameter of another study is a mistake."""
        if "study" not in parameters:
            return [f"study: is missing; choose one of {', '.join(STUDIES)}"]
        study = parameters["study"]
        if wrong := Word(tuple(STUDIES)).problem(study):
            return [f"study: {wrong}"]
        rules = STUDIES[str(study)]
        sentences = []
        for name in self.parameters[1:]:
            if name in parameters and name not in rules:
                known = ", ".join(rules)
                sentences.append(f"{name}: the study {study} has none; remove it, or use {known}")
            elif name in parameters and (wrong := rules[name].problem(parameters[name])):
                sentences.append(f"{name}: {wrong}")
        return sentences or _planted_too_long(parameters)

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """The program, and what it keeps of each moment or quantum."""
        quanta = parameters.get("quanta", 0)
        return _MEMORY + (24 * quanta if isinstance(quanta, int) else 0)

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(self.program, (PROGRAM,))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built."""
        study = str(parameters["study"])
        arguments = [study]
        for name in STUDIES[study]:
            if name in parameters:
                arguments += [f"--{name.replace('_', '-')}", str(parameters[name])]
        return Command(kernel_path(PROGRAM), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """`duration_s`, the study's samples and series, and what it doubts.

        Errors: as in `Workload.parse`.
        """
        line = read_figures(stdout, PROGRAM)
        duration = Sample("duration_s", positive(line, "duration_s"), "s")
        try:
            figures = msgspec.convert(line, _Figures)
        except (msgspec.ValidationError, ValueError) as error:
            raise ProgramError(f"{PROGRAM} printed a figure that is none: {error}") from None
        return (
            duration,
            *(Sample(one.metric, one.value, one.unit) for one in figures.samples),
            *figures.series,
            *(Warning(doubt.code, doubt.message, doubt.advice) for doubt in figures.doubts),
        )


def _planted_too_long(parameters: Mapping[str, Parameter]) -> list[str]:
    period, busy = (parameters.get(f"noise_{name}_s") for name in ("period", "busy"))
    if isinstance(period, int | float) and 0 < period <= float(busy or 5e-4):
        return ["noise_busy_s: is as long as noise_period_s; write less, or plant more seldom"]
    return []


CLOCK = ClockWorkload()
