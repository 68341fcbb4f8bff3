"""What an environment costs as a sum of causes, and the sentence that says it.

Whoever finds the causes says by which method. Effects are shares of the baseline's duration, so
that they add up: 0.05 is 5 %.
"""

from __future__ import annotations

import math

import msgspec

from aferir.report.formatting import listing, percent
from aferir.statistics.intervals import Interval

UNEXPLAINED = "unexplained"
_NAMED = 3
"""Causes that the sentence names, largest first."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an environment does to a program."""

    name: str
    """In words that finish "... comes from": `CPU quota`, `page cache of its own`."""
    effect: float
    """Share of the baseline's duration; negative where it saves time."""
    interval: Interval | None = None
    """Of the effect, on the same scale; None where there is none."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one comparison."""

    environment: str
    baseline: str
    group: str
    total: float
    """Measured: share of the baseline's duration that the environment takes more (or less)."""
    total_interval: Interval | None = None
    causes: tuple[Cause, ...]
    """In the order in which they are to be shown."""

    @property
    def rest(self) -> float:
        """What the causes do not add up to."""
        return self.total - math.fsum(cause.effect for cause in self.causes)

    @property
    def rest_interval(self) -> Interval | None:
        """None where any part has none; else as of independent errors, which add in quadrature."""
        parts = [self.total_interval, *(cause.interval for cause in self.causes)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or self.total_interval is None:
            return None
        half = math.hypot(*((part.high - part.low) / 2 for part in known))
        level = self.total_interval.level
        return Interval(self.rest - half, self.rest + half, level, "sum of independent parts")


def sentence(explained: Explanation) -> str:
    """The same in words: the whole, its largest causes, and what is left."""
    e = explained
    whole = f"{e.environment} takes {_more(e.total)} than {e.baseline} on {e.group}"
    if e.total_interval is not None:
        whole += f" {ends_of(e.total_interval)}"
    if not e.causes:
        return f"{whole}; no cause is known."
    ordered = sorted(e.causes, key=lambda cause: -abs(cause.effect))
    most = len(ordered) if len(ordered) == _NAMED + 1 else _NAMED  # one alone has its name
    named = [_said(cause) for cause in ordered[:most]]
    others = ordered[most:]
    if others:
        together = math.fsum(cause.effect for cause in others)
        named.append(f"{percent(together, sign=True)} from {len(others)} smaller causes")
    rest = f"{percent(e.rest, sign=True)} is unexplained"
    if (interval := e.rest_interval) is not None:
        rest += f" {ends_of(interval)}"
        if interval.contains(0.0):
            rest += ", which may be nothing"
    return f"{whole}: {listing(named)}; {rest}."


def _said(cause: Cause) -> str:
    interval = f" {ends_of(cause.interval)}" if cause.interval else ""
    return f"{percent(cause.effect, sign=True)}{interval} from {cause.name}"


def _more(share: float) -> str:
    return f"{percent(abs(share))} {'more' if share >= 0 else 'less'} time"


def ends_of(interval: Interval) -> str:
    """`[+1.2, +3.4]`, in percent."""
    low, high = (
        percent(end, sign=True).removesuffix(" %") for end in (interval.low, interval.high)
    )
    return f"[{low}, {high}]"
