"""The Protocol of probes: a snapshot before, one after, and a pure difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from aferir.model.record import Sample, Side

ReadFiles = Callable[[Sequence[str]], dict[str, str]]
"""Contents of text files by path, from the host or from inside an instance; a file that does
not exist there is left out."""


class Probe(Protocol):
    """A probe reads some files at the start and at the end; arithmetic is apart from reading."""

    name: str

    def paths(self) -> tuple[str, ...]:
        """Files that it wants, e.g. `/proc/stat`."""
        ...

    def samples(
        self, before: dict[str, str], after: dict[str, str], elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """What happened in between; nothing for a file that was missing in either snapshot."""
        ...
