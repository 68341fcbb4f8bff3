"""What every bench is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

Note = Callable[[str, float], None]
"""Called with what is under way and the share that is done, 0 to 1."""


class BenchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    quick: bool = False
    """End within 60 s: fewer classes, rounds and trials, and `note` says which."""
    peers: dict[str, Path] = {}
    only: tuple[str, ...] = ()
    """Run only cases whose names begin with one of these; all where there is none."""
    seed: int = 1
