"""What this machine is and can do: facts for provenance, findings for `aferir doctor`."""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.machine import capabilities, facts, privileges
from aferir.machine.facts import host_limits
from aferir.model.finding import Finding

__all__ = ["describe", "findings", "host_limits"]


def findings() -> list[Finding]:
    """Whatever bears upon the quality of results here, each with the command that mends it."""
    return [*privileges.findings(), *capabilities.findings(facts.collect())]


def describe() -> dict[str, Any]:
    """Machine and software as JSON for the provenance of a run: keys `machine`, `software`."""
    found: dict[str, Any] = msgspec.to_builtins(
        {"machine": facts.collect(), "software": facts.software()}
    )
    return found
