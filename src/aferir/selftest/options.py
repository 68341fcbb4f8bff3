"""Options that all benches share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

Note = Callable[[str, float], None]
"""Receives the present step and the completed share, 0 to 1."""


class BenchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options from the command line."""

    quick: bool = False
    """True for fewer classes, rounds and trials, which `note` reports; minutes at most."""
    peers: dict[str, Path] = {}
    only: tuple[str, ...] = ()
    """Prefixes of the names of cases to run; empty: all."""
    seed: int = 1
    resume: Path | None = None
    """File with the outcomes of finished trials, which are not run again; others are appended."""
