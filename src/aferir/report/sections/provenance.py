"""Section on the provenance of the run, with which it can be interpreted in five years."""

from __future__ import annotations

import msgspec

from aferir.report.blocks import Section, Subject, Tree


def section(subject: Subject) -> Section | None:
    """The section, if the provenance was recorded."""
    if subject.provenance is None:
        return None
    return Section(
        title="Provenance",
        blocks=(Tree(msgspec.to_builtins(subject.provenance)),),
        page_only=True,
    )
