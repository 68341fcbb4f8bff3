"""Chooses the time until the next decision: two control periods while nothing changes.

A decision costs about a thousandth of a second of a core, nearly all of it to read the service's
state. Far below the SLA, after the settings have stayed the same for long, a second reading within
a period finds nothing new; a change is noticed one period later at most.
"""

from __future__ import annotations

from aferir.colocation.job import Tick
from aferir.colocation.settings import Settings

STEADY_S = 10.0
"""Seconds without a change after which decisions become rarer. This is the default of `hold_s`, the
time for which the policy `aferir` keeps a protection: so no protection ends while decisions are
rare.
"""
FAR = 0.5
"""Decisions become rarer only if each service's quantile is below this multiple of its SLA's
bound."""
RARER = 2
"""Factor by which the period is multiplied when decisions become rarer."""


class Pace:
    """The period of one run, and the time since which nothing has changed."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._settings: Settings | None = None
        self._since_s = 0.0

    def after(self, tick: Tick) -> float:
        """Return the seconds from this decision to the next one."""
        settings, state = tick.now.unexplained(), tick.state
        far = all(one.ratio is not None and one.ratio < FAR for one in state.each)
        if settings != self._settings or not far:
            self._settings, self._since_s = settings, state.time_s
        steady = state.time_s - self._since_s >= STEADY_S
        return self._period_s * (RARER if steady else 1)
