"""How often a bench runs two programs in turns before it judges the ratio of their speeds.

Runs of some milliseconds scatter by more than the few percent that are asked for, and runs of a
minute leave no doubt after three. So rounds go on until the ratio is known well, or clearly above
or below what is asked for, or the time is used up.
"""

from __future__ import annotations

import msgspec

from aferir.statistics.ratio import Ratio, at_level

_CLEAR = 0.99
"""Level of an interval that leaves no doubt; looked at after each round, so more than is usual."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How long is gone on: at least so many rounds, then until it is enough."""

    least: int
    most: int
    seconds: float
    target: float
    """Target of the ratio."""
    width: float = 0.05
    """Width of the ratio's 95 % interval, relative to the ratio, at which it is known."""

    def is_enough(self, rounds: int, used_s: float, ratio: Ratio | None) -> bool:
        """Whether so many rounds in that time, which gave that ratio, do."""
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
