"""Decides how often a bench alternates two programs before it judges their ratio.

Runs of a few ms vary by more than the few percent that the targets permit, and runs of a minute are
conclusive after three. So rounds continue until the ratio is known precisely, or is clearly above
or below the target, or the time is used up.
"""

from __future__ import annotations

import msgspec

from aferir.statistics.ratio import Ratio, at_level

_CLEAR = 0.99
"""Level of the interval for a clear ratio; high, because it is tested after each round."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a comparison: at least `least` rounds, then until it is precise or clear."""

    least: int
    most: int
    seconds: float
    target: float
    """Target of the ratio."""
    width: float = 0.05
    """Relative width of the ratio's 95 % interval at which it is known precisely."""

    def is_enough(self, rounds: int, used_s: float, ratio: Ratio | None) -> bool:
        """True if `rounds` and `used_s` suffice for the ratio."""
        if rounds < self.least:
            return False
        if rounds >= self.most or used_s >= self.seconds:
            return True
        return ratio is not None and (self._is_known(ratio) or self._is_clear(ratio))

    def _is_known(self, ratio: Ratio) -> bool:
        if ratio.estimate is None or ratio.interval is None:
            return False
        return ratio.interval.high - ratio.interval.low <= self.width * ratio.estimate

    def _is_clear(self, ratio: Ratio) -> bool:
        found = at_level(ratio, _CLEAR)
        return found is not None and not found.low <= self.target <= found.high
