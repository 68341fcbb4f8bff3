"""Sizes and durations as people write them: `1 GiB`, `90 s`, `1h30min`."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

SIZE_UNITS = {
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
}
"""Bytes in each unit: powers of 1000 without the `i`, powers of 1024 with it (IEC 80000-13)."""

DURATION_UNITS = {
    "h": Fraction(3600),
    "min": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
    "us": Fraction(1, 1_000_000),
}
"""Seconds in each unit, in the order in which units may follow one another."""

_LONGEST = 40
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def parse_size(text: str) -> int:
    """Number of bytes, rounded; raises ValueError with a reason if `text` is no size."""
    parts = _parts(text)
    if len(parts) != 1:
        raise ValueError("a size is one number and one unit")
    number, unit = parts[0]
    if unit not in SIZE_UNITS:
        raise ValueError(f"`{unit}` is no unit of size (there are {', '.join(SIZE_UNITS)})")
    return round(number * SIZE_UNITS[unit])


def format_size(size_bytes: int) -> str:
    """Shortest exact form of a size, which `parse_size` reads as the same number of bytes."""
    exact = [(unit, each) for unit, each in SIZE_UNITS.items() if size_bytes % each == 0]
    unit, each = min(exact, key=lambda pair: (size_bytes // pair[1], pair[1]))
    return f"{size_bytes // each} {unit}"


def parse_duration(text: str) -> float:
    """Number of seconds; raises ValueError with a reason if `text` is no duration."""
    parts = _parts(text)
    order = list(DURATION_UNITS)
    for _, unit in parts:
        if unit not in DURATION_UNITS:
            raise ValueError(f"`{unit}` is no unit of time (there are {', '.join(order)})")
    places = [order.index(unit) for _, unit in parts]
    if any(first >= second for first, second in itertools.pairwise(places)):
        raise ValueError("units must go from the largest to the smallest, each once")
    return float(sum(number * DURATION_UNITS[unit] for number, unit in parts))


def format_duration(duration_s: float) -> str:
    """A duration to the microsecond, e.g. `1 h 30 min`, which `parse_duration` reads."""
    left = round(duration_s / DURATION_UNITS["us"])
    words = []
    for unit, seconds in DURATION_UNITS.items():
        count, left = divmod(left, int(seconds / DURATION_UNITS["us"]))
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words) or "0 s"


def _parts(text: str) -> list[tuple[Fraction, str]]:
    text = text.strip()
    if len(text) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST} characters")
    found, place = [], 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise ValueError("it is not a number followed by a unit")
        found.append((Fraction(part[1]), part[2]))
        place = part.end()
    if not found:
        raise ValueError("it is empty")
    return found
