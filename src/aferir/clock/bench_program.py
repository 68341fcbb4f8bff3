"""Runs `aferir-clock-bench` on this machine, and parses its output.

It prints one JSON object on each line; `bench` is the type of the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from aferir.errors import ProgramError
from aferir.linux import process

PROGRAM = "aferir-clock-bench"
EcpCase = Literal["migrations", "hand_overs", "refinements"]
Part = Literal["info", "costs", "ecp", "refinements", "sync", "bound"]

_INVARIANCES = ("none", "claimed", "trusted", "given")


class ReadCost(msgspec.Struct, frozen=True, tag_field="bench", tag="read_cost"):
    """Cost of reading one clock, over rounds that alternate with rounds of other clocks."""

    clock: str
    rounds: int
    reads_per_round: int
    min_ns: float
    median_ns: float


class Ecp(msgspec.Struct, frozen=True, tag_field="bench", tag="ecp"):
    """Check of strict order: violations are readings not above the previous one in causal order."""

    case: EcpCase
    reads: int
    violations: int
    seconds: float
    migrations: int = 0
    rate_changes: int = 0

    @property
    def provoked(self) -> int:
        """Number of events that could have caused a violation."""
        return {
            "migrations": self.migrations,
            "hand_overs": self.reads,
            "refinements": self.rate_changes,
        }[self.case]


class Sync(msgspec.Struct, frozen=True, tag_field="bench", tag="one_shot_sync"):
    """Figures of one-shot synchronisations of ends with the same clock; None if all failed."""

    runs: int
    failures: int
    outside_bound: int
    stamped_by_kernel: int
    """Number of runs in which nearly all exchanges had time stamps of the kernel."""
    median_error_ns: float | None = None
    p90_error_ns: float | None = None
    p99_error_ns: float | None = None
    max_error_ns: float | None = None
    median_took_ns: float | None = None
    min_took_ns: float | None = None
    median_bound_ns: float | None = None
    median_exchanges: float | None = None


class Bound(msgspec.Struct, frozen=True, tag_field="bench", tag="bound"):
    """Check of a global clock's error bound against the truth, with a known rate injected."""

    path: str
    injected_ppm: float
    rate_ppm: float
    rate_error_ppm: float
    checks: int
    outside: int
    worst_error_ns: float
    worst_part_of_bound: float


class Counter(msgspec.Struct, frozen=True, tag_field="bench", tag="counter"):
    """Properties of the counter as `rvec_info` reports them (docs/reference/clock.md)."""

    counter: str
    frequency_hz: float
    uncertainty_ppb: float
    """Uncertainty of the rate against CLOCK_MONOTONIC_RAW, in ppb: half of its interval's width."""
    invariance: int
    cores: int
    cores_checked: int
    jumps: int
    rate_changes: int
    doubt_ns: int = 0

    @property
    def trust(self) -> str:
        """Trust in the counter: `none` (a fallback is in use), `claimed`, `trusted` or `given`."""
        known = 0 <= self.invariance < len(_INVARIANCES)
        return _INVARIANCES[self.invariance] if known else "none"


class CoreOffset(msgspec.Struct, frozen=True, tag_field="bench", tag="core_offset"):
    """Counter of a core minus that of core 0, in ticks."""

    core: int
    offset_ticks: int
    uncertainty_ticks: int
    applied: bool
    """Whether readings are corrected by the offset, because it exceeds its uncertainty."""


Line = ReadCost | Ecp | Sync | Bound | Counter | CoreOffset
_L = TypeVar("_L", ReadCost, Ecp, Sync, Bound, Counter, CoreOffset)


def measure(
    program: Path,
    part: Part,
    options: Sequence[str] = (),
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> list[Line]:
    """Run the program for one part; returns its lines, with the counter's properties.

    Errors: ProgramError if its output cannot be parsed, TimeoutExpired.
    """
    done = process.run(
        [str(program), part, *options], timeout_s=timeout_s, environment=environment, check=False
    )
    lines = parse(done.stdout)
    # The output ends with the counter even if a synchronisation failed (exit code 1, counted).
    if done.exit_code < 0 or not of(lines, Counter):
        raise ProgramError(
            f"{PROGRAM} {part} {process.explain_exit(done)}",
            remedy="a processor without a counter that it knows? see docs/reference/clock.md",
        )
    return lines


def parse(text: str) -> list[Line]:
    """All lines of the output. Errors: ProgramError if one cannot be parsed."""
    decoder = msgspec.json.Decoder(Line, strict=False)
    found: list[Line] = []
    for line in text.splitlines():
        try:
            found.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise ProgramError(f"{PROGRAM} printed what is not its own ({error})") from None
    return found


def of(lines: Sequence[Line], kind: type[_L]) -> list[_L]:
    """Select the lines of type `kind`."""
    return [line for line in lines if isinstance(line, kind)]


def cost_of(lines: Sequence[Line], clock: str) -> ReadCost | None:
    """Cost of reading the clock called `clock`; None if this machine lacks it."""
    return next((line for line in of(lines, ReadCost) if line.clock == clock), None)
