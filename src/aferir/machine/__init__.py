"""Describes this machine: facts for the provenance, findings for `aferir doctor`."""

from __future__ import annotations

from typing import Any

import msgspec

from aferir.machine import capabilities, facts, privileges
from aferir.machine.facts import MachineFacts, host_limits
from aferir.model.finding import Finding

__all__ = ["describe", "findings", "host_limits"]


def findings(found: MachineFacts | None = None) -> list[Finding]:
    """Findings that affect the quality of results on this machine, with remedies.

    `found` are its facts if they are known already.
    """
    return [*privileges.findings(), *capabilities.findings(found or facts.collect())]


def describe(found: MachineFacts | None = None, *, installed: bool = True) -> dict[str, Any]:
    """Machine and software for the provenance of a run, with the keys `machine` and `software`.

    `found` are facts that are known already; `installed` is that of `facts.software`.
    """
    described: dict[str, Any] = msgspec.to_builtins(
        {"machine": found or facts.collect(), "software": facts.software(installed=installed)}
    )
    return described
