"""What is needed to read a result years later: where, with what and in which state it was taken."""

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
    """One start of the run: a resumed run has several."""

    started_unix_ns: int
    ended_unix_ns: int | None = None
    """None: it is running, or was killed."""
    spent_s: float | None = None
    """How much of the run's time limit was spent at its end, over all starts so far: time that
    aferir and what it ran were running, whatever the date was set to meanwhile."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of one run."""

    version: str
    """Version of aferir."""
    facts: dict[str, Any] = {}
    """JSON about the machine, as `aferir.machine` found them when the run was made."""
    segments: tuple[Segment, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Whatever `check` called degraded or missing."""
    left_out: tuple[LeftOut, ...] = ()
    images: dict[str, str] = {}
    """Kind of environment to the content hash of the image that its instances were made from."""
    commands: dict[str, tuple[str, ...]] = {}
    """Cell to the command that was run in its instance."""
    warnings: tuple[Warning, ...] = ()
    """About the run as a whole, e.g. `time-limit`, `given-up`, `no-baseline`."""
