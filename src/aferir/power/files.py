"""Small files of the kernel in which a device says one thing each."""

from __future__ import annotations

import math
from pathlib import Path


def number(path: Path) -> float:
    """Read a number; not a number where there is none."""
    try:
        return float(text(path))
    except ValueError:
        return math.nan


def text(path: Path) -> str:
    """Read a line; empty where there is no such file, or it may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
