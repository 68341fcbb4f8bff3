"""Numbers by which devices mean "unknown": all bits of a register, before scaling."""

from __future__ import annotations

import math

UNKNOWN = "it says that it does not know"
_WIDE = frozenset({2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63)})
_NARROW = frozenset({2**15 - 1, 2**16 - 1, -(2**15)})
_DRIVERS = (1, 1000, 1_000_000)
"""Factors by which drivers multiply registers, to convert to milliwatts or microwatts."""


def is_unknown(raw: float, *, least: int = 1) -> bool:
    """Whether a number from a device means "unknown".

    `least`: smallest possible unit of the device's register, as a multiple of the unit of `raw`.
    Values that mean "unknown" in a 16-bit register are recognised only in that unit or larger ones,
    as in smaller ones they may be true; those of wider registers are recognised in any unit.
    """
    if not math.isfinite(raw):
        return True
    return any(
        raw == each * bits
        for each in _DRIVERS
        for bits in (_WIDE | _NARROW if each >= least else _WIDE)
    )
