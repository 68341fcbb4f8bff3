"""Detects impossible readings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aferir.power.base import Description, Reading
from aferir.power.unknown import is_unknown

MOST_W = 1e5
"""Upper limit in watts of any source: more than a room of servers takes."""
_ROUNDING = 1.02
"""Tolerance for watts and volt-amperes that are rounded separately."""


def refusal(power_w: float | None, reading: Reading, device: Description) -> str:
    """Why this reading is impossible; "" if it is plausible."""
    return next(_reasons(power_w, reading, device), "")


def _reasons(power_w: float | None, reading: Reading, device: Description) -> Iterator[str]:
    if reading.stale:
        yield f"stale: {reading.stale}"
    if power_w is None or not math.isfinite(power_w):
        yield "no number" if reading.energy_j is None else "its counter began again"
        return
    if power_w < 0:
        yield f"{power_w:g} W is negative"
    if is_unknown(power_w):
        yield f"{power_w:g} stands for `unknown`"
    if power_w == 0:
        yield "0 W, while the machine runs that asks"
    if power_w > min(device.most_w, MOST_W):
        most_w = min(device.most_w, MOST_W)
        yield f"{power_w:g} W is more than the {most_w:g} W that it can give"
    if 0 < power_w < device.least_w:
        yield f"{power_w:g} W is less than any server takes"
    if reading.doubt:
        yield reading.doubt
    apparent = reading.apparent_va
    if apparent is not None and power_w > apparent * _ROUNDING:
        yield f"{power_w:g} W is more than its {apparent:g} VA"
