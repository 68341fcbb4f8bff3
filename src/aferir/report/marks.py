"""Marks of environments: colour and shape together distinguish sixteen, in print too.

Eight shapes are filled for the first eight environments and hollow for the next eight; the hollow
one of a shape has another colour than the filled one. Shapes alone distinguish all sixteen, for
readers who see no colours and on grey paper; from the seventeenth environment on they repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from aferir.model.plan import environment_family

SHAPES = ("circle", "square", "triangle", "diamond", "cross", "down", "star", "plus")
MARKS = 2 * len(SHAPES)
_OUTLINES = {
    "circle": "M-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0-9.2 0z",
    "square": "M-4.1-4.1h8.2v8.2h-8.2z",
    "triangle": "M0-5.2L5.2 4.2H-5.2z",
    "diamond": "M0-5.6L5.6 0L0 5.6L-5.6 0z",
    "cross": (
        "M-4.9-2.9L-2.9-4.9L0-2L2.9-4.9L4.9-2.9L2 0L4.9 2.9L2.9 4.9L0 2L-2.9 4.9L-4.9 2.9L-2 0z"
    ),
    "down": "M0 5.2L5.2-4.2H-5.2z",
    "star": "M0-6L1.5-2L5.7-1.9L2.4.8L3.5 4.9L0 2.5L-3.5 4.9L-2.4.8L-5.7-1.9L-1.5-2z",
    "plus": "M-1.5-5.2h3v3.7h3.7v3h-3.7v3.7h-3v-3.7h-3.7v-3h3.7z",
}


class Mark(msgspec.Struct, frozen=True):
    """Mark of one environment: its place, which determines its colour and shape."""

    place: int
    """Index from 0 to `MARKS` - 1, which is the number of its colour in the page's style."""
    shape: str
    hollow: bool

    @property
    def outline(self) -> str:
        """Outline as an SVG path around 0, about 10 units wide."""
        return _OUTLINES[self.shape]


def mark(place: int) -> Mark:
    """Mark of the environment with this index in the plan."""
    within = place % MARKS
    return Mark(within, SHAPES[within % len(SHAPES)], within >= len(SHAPES))


def places(environments: Sequence[str]) -> Mapping[str, int]:
    """Index of each environment's mark; a family has the mark of its first variant."""
    found = {name: place % MARKS for place, name in enumerate(environments)}
    for name, place in list(found.items()):
        found.setdefault(environment_family(name), place)
    return found
