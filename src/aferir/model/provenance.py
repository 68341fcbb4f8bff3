"""Where, with what and in which state a result was measured, to interpret it years later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from aferir.model.finding import Finding
from aferir.model.record import Warning

TIME_LIMIT = "time-limit"
"""Code of the warning that the run's time limit left out some of its repetitions."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An environment or a workload of the plan that this machine could not run, and why."""

    kind: Literal["environment", "workload"]
    name: str
    finding: Finding
    part: str = ""
    """Cells of the workload that cannot run, by what they share, e.g. `with method=balance-rr`;
    empty if none of it can.
    """


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the run; a resumed run has several."""

    started_unix_ns: int
    ended_unix_ns: int | None = None
    """Time of the end; None while it is running, or if it was killed."""
    spent_s: float | None = None
    """Part of the run's time limit in s used at its end, over all starts so far. Only time in which
    aferir and its programs were running counts, and changes of the system's date do not matter.
    """


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions under which a run was made."""

    version: str
    """Version of aferir."""
    facts: dict[str, Any] = {}
    """Facts about the machine as `aferir.machine` found them when the run was made, for JSON."""
    segments: tuple[Segment, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings that `check` called degraded or missing."""
    left_out: tuple[LeftOut, ...] = ()
    images: dict[str, str] = {}
    """Content hash of the image from which the instances were made, by kind of environment."""
    commands: dict[str, tuple[str, ...]] = {}
    """Command that was run, by the cell's id."""
    warnings: tuple[Warning, ...] = ()
    """Warnings about the run as a whole, e.g. `time-limit`, `given-up`, `no-baseline`."""


def same_reason(left_out: Iterable[LeftOut]) -> tuple[tuple[str, Finding], ...]:
    """What is left out, e.g. `workloads BT.C, FT.C with method=balance-rr`, with each reason."""
    names: dict[tuple[str, str, Finding], list[str]] = {}
    for one in left_out:
        names.setdefault((one.kind, one.part, one.finding), []).append(one.name)
    return tuple(
        (f"{kind}{'s' if len(them) > 1 else ''} {', '.join(them)} {part}".rstrip(), finding)
        for (kind, part, finding), them in names.items()
    )


def cut_short(warnings: Iterable[Warning]) -> str:
    """Message about a run that its time limit ended before the plan's end; else empty."""
    return next((one.message for one in warnings if one.code == TIME_LIMIT), "")
