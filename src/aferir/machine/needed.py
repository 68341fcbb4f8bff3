"""Refuses to begin where something is missing."""

from __future__ import annotations

from collections.abc import Iterable

from aferir.errors import MissingError
from aferir.model.finding import Finding


def require(findings: Iterable[Finding]) -> None:
    """Errors: MissingError with the first that says that something is missing."""
    for finding in findings:
        if finding.status == "missing":
            raise MissingError(finding.message, remedy=finding.remedy)
