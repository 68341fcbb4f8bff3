"""Functions of time for decisions: hysteresis, smoothing, holds, and bars after harm."""

from __future__ import annotations

import math

import msgspec


class Span(msgspec.Struct, frozen=True):
    """Time since which a condition has held without a break; infinite while it does not hold."""

    since_s: float = math.inf

    def observe(self, now_s: float, *, holds: bool) -> Span:
        """Return the span after the condition was observed to hold or not at `now_s`."""
        return Span(min(self.since_s, now_s)) if holds else Span()


class Hold(msgspec.Struct, frozen=True):
    """A state that stays for a time after its cause was last seen."""

    until_s: float = -math.inf
    active: bool = False

    def observe(self, now_s: float, hold_s: float, *, cause: bool) -> Hold:
        """Return the hold after its cause was observed to be present or absent at `now_s`."""
        until_s = now_s + hold_s if cause else self.until_s
        return Hold(until_s, now_s < until_s)


class BackOff(msgspec.Struct, frozen=True):
    """Bar of a mode after harm; doubled if harm returns sooner than the last bar was long."""

    until_s: float = -math.inf
    wait_s: float = 0.0

    def after_harm(self, now_s: float, well_s: float, first_s: float, longest_s: float) -> BackOff:
        """Return the bar that begins now; `well_s`: seconds without harm before it."""
        wait_s = first_s if well_s >= self.wait_s else min(2 * self.wait_s, longest_s)
        return BackOff(now_s + wait_s, wait_s)


def exceeds(value: float, begin: float, end: float, *, was: bool) -> bool:
    """Whether a value is high, with hysteresis: above `begin` at first, later above `end`."""
    return value > (end if was else begin)


def smooth(before: float, now: float, past_s: float, over_s: float) -> float:
    """Exponential smoothing with a time constant of `over_s` seconds."""
    return before + (now - before) * min(1.0, past_s / over_s) if over_s > 0 else now
