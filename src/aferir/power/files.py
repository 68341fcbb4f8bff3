"""Reads small files of the kernel that contain one value each."""

from __future__ import annotations

import math
from pathlib import Path


def number(path: Path) -> float:
    """Read a number; NaN if there is none."""
    try:
        return float(text(path))
    except ValueError:
        return math.nan


def text(path: Path) -> str:
    """Read a line; "" if the file does not exist or cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
