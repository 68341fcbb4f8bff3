"""What `aferir-clock-bench` measures on this machine: starting it, and reading its lines.

It prints one JSON object a line; `bench` names what the line is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from aferir.errors import ProgramError
from aferir.linux import process

PROGRAM = "aferir-clock-bench"
Part = Literal["info", "costs", "ecp", "sync", "bound"]

_INVARIANCES = ("none", "claimed", "trusted", "given")


class ReadCost(msgspec.Struct, frozen=True, tag_field="bench", tag="read_cost"):
    """One way of reading a clock, over rounds that alternate with those of the others."""

    clock: str
    rounds: int
    reads_per_round: int
    min_ns: float
    median_ns: float


class Ecp(msgspec.Struct, frozen=True, tag_field="bench", tag="ecp"):
    """How often a reading was not greater than the one before it in causal order."""

    case: Literal["migrations", "hand_overs"]
    reads: int
    violations: int
    seconds: float
    migrations: int = 0


class Sync(msgspec.Struct, frozen=True, tag_field="bench", tag="one_shot_sync"):
    """One-shot synchronisations between ends that read one clock; no figures where all failed."""

    runs: int
    failures: int
    outside_bound: int
    stamped_by_kernel: int
    """Runs of which nearly all exchanges had the kernel's time stamps."""
    median_error_ns: float | None = None
    p90_error_ns: float | None = None
    p99_error_ns: float | None = None
    max_error_ns: float | None = None
    median_took_ns: float | None = None
    min_took_ns: float | None = None
    median_bound_ns: float | None = None
    median_exchanges: float | None = None


class Bound(msgspec.Struct, frozen=True, tag_field="bench", tag="bound"):
    """A clock of an injected rate that was compared with the truth again and again."""

    path: str
    injected_ppm: float
    rate_ppm: float
    rate_error_ppm: float
    checks: int
    outside: int
    worst_error_ns: float
    worst_part_of_bound: float


class Counter(msgspec.Struct, frozen=True, tag_field="bench", tag="counter"):
    """What `rvec_info` says (docs/reference/clock.md)."""

    counter: str
    frequency_hz: float
    uncertainty_ppb: float
    """Half of the interval that holds the rate, against CLOCK_MONOTONIC_RAW."""
    invariance: int
    cores: int
    cores_checked: int
    jumps: int
    rate_changes: int
    doubt_ns: int = 0

    @property
    def trust(self) -> str:
        """Trust in a word: `none` (a fallback is in use), `claimed`, `trusted` or `given`."""
        known = 0 <= self.invariance < len(_INVARIANCES)
        return _INVARIANCES[self.invariance] if known else "none"


class CoreOffset(msgspec.Struct, frozen=True, tag_field="bench", tag="core_offset"):
    """A core's counter less that of core 0, in ticks."""

    core: int
    offset_ticks: int
    uncertainty_ticks: int
    applied: bool
    """It exceeds its uncertainty and is taken out of readings."""


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
    """Let the program measure one part; what the counter is comes with it.

    Errors: ProgramError where it says nothing that can be read, TimeoutExpired.
    """
    done = process.run(
        [str(program), part, *options], timeout_s=timeout_s, environment=environment, check=False
    )
    lines = parse(done.stdout)
    # It ends with the counter, also where a synchronisation failed (exit code 1, counted).
    if done.exit_code < 0 or not of(lines, Counter):
        raise ProgramError(
            f"{PROGRAM} {part} {process.explain_exit(done)}",
            remedy="a processor without a counter that it knows? see docs/reference/clock.md",
        )
    return lines


def parse(text: str) -> list[Line]:
    """All lines. Errors: ProgramError where one is not of this program."""
    decoder = msgspec.json.Decoder(Line, strict=False)
    found: list[Line] = []
    for line in text.splitlines():
        try:
            found.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise ProgramError(f"{PROGRAM} printed what is not its own ({error})") from None
    return found


def of(lines: Sequence[Line], kind: type[_L]) -> list[_L]:
    """The lines of one kind."""
    return [line for line in lines if isinstance(line, kind)]


def cost_of(lines: Sequence[Line], clock: str) -> ReadCost | None:
    """What reading that clock costs; None where this machine has no such clock."""
    return next((line for line in of(lines, ReadCost) if line.clock == clock), None)
