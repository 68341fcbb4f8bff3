"""Where, with what and in which state a result was measured, to interpret it years later."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from aferir.model.finding import Finding
from aferir.model.record import Warning


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An environment or a workload of the plan that this machine could not run, and why."""

    kind: Literal["environment", "workload"]
    name: str
    finding: Finding


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
