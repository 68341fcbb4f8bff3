"""Formats figures: the only place that scales and rounds, to three significant digits.

Files for programs (CSV, JSON) do not use it; they contain base units and every digit.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from aferir.statistics.intervals import Interval

NOTHING = "–"  # noqa: RUF001 - an en dash, the usual sign of an empty field in a table
"""Placeholder for a missing figure."""

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL_STEPS = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SCALED_UP = frozenset({"B", "B/s", "bit/s", "Hz", "op/s", "LUP/s", "FLUP/s", "flop/s", "W", "J"})
_COUNTS = frozenset({"", "1", "count"})
"""Units of counts and of ratios, which have no symbol."""
_TERMS = {name.lower(): name for name in ("TaR", "TeF", "TcI", "TiI", "TlR")}
"""Spelling of the symbols for allocation times in Dutra 2015, chapter 5."""
_ALREADY_SCALED = {"Mop/s": (1e6, "op/s"), "MLUP/s": (1e6, "LUP/s"), "MFLUP/s": (1e6, "FLUP/s")}


def number(value: float | None, digits: int = 3) -> str:
    """`value` with `digits` significant digits, thousands separators and no exponent."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    decimals = _decimals(value, digits)
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def quantity(value: float | None, unit: str, *, exact: bool = False) -> str:
    """`value` with a readable prefix of `unit`: 0.00123 s as `1.23 ms`, a count as `76`.

    `exact`: whole counts have all their digits.
    """
    if value is None or not math.isfinite(value):
        return number(value)
    if unit in _COUNTS and _is_whole(value):
        return _fixed(value, 0 if exact else min(_decimals(value, 3), 0))
    factor, shown = scale(value, unit)
    return f"{number(value / factor)} {shown}".rstrip()


def quantity_interval(value: float | None, interval: Interval | None, unit: str) -> str:
    """A figure and its interval with one prefix, rounded alike: `1.23 ms [1.20, 1.26]`.

    For a figure of 0 both follow from the wider end of its interval. Counts whose ends are whole
    numbers have no decimals: `76 [74, 79]`; one that does not vary has all its digits.
    """
    if value is None or interval is None or not math.isfinite(value):
        return quantity(value, unit)
    ends = (abs(end) for end in (interval.low, interval.high) if math.isfinite(end))
    size = value or max(ends, default=0.0)
    factor, shown = scale(size, unit)
    decimals = _decimals(size / factor, 3) if size else 0
    if unit in _COUNTS and all(map(_is_whole, (value, interval.low, interval.high))):
        decimals = min(decimals, 0) if interval.low < interval.high else 0
    low, high = (_fixed(end / factor, decimals) for end in (interval.low, interval.high))
    shown = shown and f" {shown}"
    return f"{_fixed(value / factor, decimals) if value else 0}{shown} [{low}, {high}]"


def percent(share: float, *, sign: bool = False) -> str:
    """A share in percent: 0.0123 as `1.2 %`; one decimal below 10 %, none above."""
    if not math.isfinite(share):
        return f"{number(share)} %"
    decimals = _percent_decimals(share)
    text = _signed(100 * share, decimals) if sign else f"{100 * share:,.{decimals}f}"
    return f"{text} %"


def change(ratio: float | None, interval: Interval | None = None) -> str:
    """A ratio for people: `+1.2 % [+0.4, +2.1]`, and from 2 on `38.2 times [36.9, 39.6]`."""
    if ratio is None:
        return NOTHING
    if not 0.5 < ratio < 2:
        return quantity_interval(ratio, interval, "times")
    text = percent(ratio - 1, sign=True)
    if interval is None:
        return text
    decimals = _percent_decimals(ratio - 1)
    low, high = (_signed(100 * (end - 1), decimals) for end in (interval.low, interval.high))
    return f"{text} [{low}, {high}]"


def p_value(p: float | None) -> str:
    """`0.023`, or `< 0.0001` if more digits would not be accurate."""
    if p is None:
        return NOTHING
    return "< 0.0001" if p < 0.0001 else number(p, 2)


def instant(unix_ns: int) -> str:
    """A time stamp in UTC to the second."""
    return datetime.fromtimestamp(unix_ns // 1_000_000_000, tz=UTC).strftime(
        "%Y-%m-%d %H:%M:%S UTC"
    )


def labelled(name: str, emulated: bool) -> str:
    """Name of an environment in charts and sentences."""
    return f"{name} (emulated)" if emulated else name


def listing(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def metric_name(metric: str) -> str:
    """`load_of_others_cpus` as `load of others`: words, without the unit's symbol."""
    words = re.sub(r"_per_s(?=_|$)", "_per_second", metric).split("_")
    symbols = {
        "s",
        "j",
        "w",
        "bps",
        "bytes",
        "percent",
        "hz",
        "mops",
        "cpus",
        "mlups",
        "mflups",
        "flops",
    }
    kept = [word for word in words if word not in symbols] or words
    return " ".join(_TERMS.get(word, word) for word in kept)


def _percent_decimals(share: float) -> int:
    return 1 if abs(100 * share) < 9.95 else 0


def _signed(value: float, decimals: int) -> str:
    """A number with its sign; the sign is omitted if the number is rounded to zero."""
    if not math.isfinite(value):
        return number(value)
    text = f"{value:+,.{decimals}f}"
    return text[1:] if float(text.replace(",", "")) == 0 else text


def _decimals(value: float, digits: int) -> int:
    """Number of decimals that show `digits` significant digits, also if rounding adds a digit."""
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if round(abs(value), digits - 1 - exponent) >= 10 ** (exponent + 1):
        exponent += 1
    return digits - 1 - exponent


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)


def _fixed(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return number(value)
    rounded = round(value, decimals) + 0.0  # makes -0.0 positive
    return f"{rounded:,.{max(decimals, 0)}f}"


def scale(value: float, unit: str) -> tuple[float, str]:
    """Divisor for a figure of this size, and the unit with its prefix."""
    before, base = _ALREADY_SCALED.get(unit, (1.0, "" if unit in _COUNTS else unit))
    size = abs(value * before)
    steps: tuple[tuple[float, str], ...] = ((1.0, ""),)
    if base in ("s", "J") and size < 1:
        steps = _SMALL_STEPS
    elif base in _SCALED_UP:
        steps = _STEPS
    # 999.6 of one unit would be printed as 1,000, so it is printed in the next unit.
    fitting = [step for step in steps if size >= 0.9995 * step[0]]
    factor, prefix = fitting[0] if fitting and size else (steps[-1] if size else (1.0, ""))
    return factor / before, prefix + base
