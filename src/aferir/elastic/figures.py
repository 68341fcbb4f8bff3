"""What a step prints, and what the runner records of it."""

from __future__ import annotations

import msgspec

from aferir.model.record import Sample, Series, Warning


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One repetition of one step."""

    program: str
    verified: bool = True
    error: str = ""
    samples: tuple[Sample, ...]
    series: tuple[Series, ...] = ()
    doubts: tuple[Warning, ...] = ()
