"""Numbers by which devices say `unknown`: all bits of a register, before anybody scales it."""

from __future__ import annotations

import math

UNKNOWN = "it says that it does not know"
_WIDE = frozenset({2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63)})
_NARROW = frozenset({2**15 - 1, 2**16 - 1, -(2**15)})
_DRIVERS = (1, 1000, 1_000_000)
"""What drivers multiply registers by, to give milliwatts or microwatts."""


def is_unknown(raw: float, *, least: int = 1) -> bool:
    """Whether a number as the device gives it stands for `unknown`.

    `least`: the smallest unit of the device in its register, in units of `raw`. Registers of 16
    bits are known in that unit and in those above it; a wide one is known in any.
    """
    if not math.isfinite(raw):
        return True
    return any(
        raw == each * bits
        for each in _DRIVERS
        for bits in (_WIDE | _NARROW if each >= least else _WIDE)
    )
