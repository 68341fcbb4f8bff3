"""The conditions of the run, as they are needed to read it in five years."""

from __future__ import annotations

import msgspec

from aferir.report.blocks import Section, Subject, Tree


def section(subject: Subject) -> Section | None:
    """Where they were recorded."""
    if subject.provenance is None:
        return None
    return Section(
        title="Provenance",
        blocks=(Tree(msgspec.to_builtins(subject.provenance)),),
        page_only=True,
    )
