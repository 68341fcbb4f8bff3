"""Parses a number with its unit as meters print it: `324`, `"324"`, `Gauge32: 324`, `0.32 kW`."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"([+-]?\d{1,20}(?:\.\d{0,9})?(?:[eE][+-]?\d{1,2})?)\s*([^\d\s].*)?")
_TYPED = re.compile(
    r"(?:.*=\s*)?(?:(?:INTEGER|Integer32|Gauge32|Gauge|Unsigned32|UInteger32|Counter32|Counter64"
    r"|STRING|Opaque|Float|Double):\s*)*",
    re.DOTALL,
)
"""Types before a value, as net-snmp prints them; any other word may be a unit."""
_POWERS = {"": 1.0, "w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "mw": 1e-3, "dw": 0.1}
_POWERS |= {"tenths of watts": 0.1, "deciwatts": 0.1, "1/10 w": 0.1, "milliwatts": 1e-3}


def power(text: str) -> tuple[float, float]:
    """The number as printed, and its unit in watts. Errors: ValueError that says what is wrong."""
    inside = text.strip().strip('"')
    typed = _TYPED.match(inside)
    inside = inside[typed.end() :].strip().strip('"') if typed else inside
    found = _NUMBER.fullmatch(inside)
    if found is None:
        raise ValueError("no number")
    unit = (found[2] or "").strip().strip('"').lower()
    if unit not in _POWERS:
        raise ValueError(f"no number of watts, but of `{unit[:30]}`")
    value = float(found[1])
    return (value, _POWERS[unit]) if math.isfinite(value) else (math.nan, 1.0)


def step(text: str) -> float:
    """Resolution of a printed number: one in its last place, without trailing zeros."""
    number = re.match(r"\s*-?\d*(?:\.(\d*))?", text)
    decimals = (number[1] or "").rstrip("0") if number else ""
    return 10.0 ** -len(decimals)
