"""Which readings cannot be true."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aferir.power.base import Description, Reading

_SENTINELS = (65535.0, 32767.0, 2147483647.0, 4294967295.0)
"""What devices say for `unknown`: all bits of a register set."""
_ROUNDING = 1.02
"""Watts and volt-amperes are rounded apart."""


def refusal(power_w: float | None, reading: Reading, device: Description) -> str:
    """Why this reading is not to be believed; empty where it may be."""
    return next(_reasons(power_w, reading, device), "")


def _reasons(power_w: float | None, reading: Reading, device: Description) -> Iterator[str]:
    if reading.stale:
        yield f"stale: {reading.stale}"
    if power_w is None or not math.isfinite(power_w):
        yield "no number"
        return
    if power_w < 0:
        yield f"{power_w:g} W is negative"
    if power_w in _SENTINELS:
        yield f"{power_w:g} stands for `unknown`"
    if power_w == 0:
        yield "0 W, while the machine runs that asks"
    if power_w > device.most_w:
        yield f"{power_w:g} W is more than the {device.most_w:g} W that it can give"
    apparent = reading.apparent_va
    if apparent is not None and power_w > apparent * _ROUNDING:
        yield f"{power_w:g} W is more than its {apparent:g} VA"
