"""Describes this machine: facts for the provenance, findings for `aferir doctor`."""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.machine import capabilities, facts, privileges
from aferir.machine.facts import host_limits
from aferir.model.finding import Finding

__all__ = ["describe", "findings", "host_limits"]


def findings() -> list[Finding]:
    """Findings that affect the quality of results on this machine, with remedies."""
    return [*privileges.findings(), *capabilities.findings(facts.collect())]


def describe() -> dict[str, Any]:
    """Machine and software for the provenance of a run, with the keys `machine` and `software`."""
    found: dict[str, Any] = msgspec.to_builtins(
        {"machine": facts.collect(), "software": facts.software()}
    )
    return found
