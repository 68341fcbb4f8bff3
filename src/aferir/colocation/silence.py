"""Whether no answers mean no requests: a service that works without one is not heard.

Its log went away, changed its format, or is written through a buffer, and comes in bursts. What
the service's own CPU time tells is set against what its answers took so far.
"""

from __future__ import annotations

_LEAST_S = 1.0
"""Silence of which nothing is said: scrapes come every half second."""
_UNHEARD_S = 2.0
_UNHEARD_CPUS = 0.02
"""Of a service none of whose answers was read yet, above which it is taken to work."""
_ANSWERS = 20
"""So many would have come for the CPU time that was used."""
_USUAL = 0.3
"""Part of its usual CPU use, below which it is taken to be idle."""
_REMEMBERED_S = 30.0
_STEPS_S = (1000, 300, 100, 30, 10, 3, 1)


class Silence:
    """Told at every decision how many answers came and what the service used."""

    def __init__(self, time_s: float) -> None:
        self._before_s = self._last_s = time_s
        self._silent_cpu_s = 0.0
        self._heard_s = self._heard_cpu_s = self._heard = 0.0
        self._burst_s = 0.0
        self._burst_until_s = time_s

    def look(self, time_s: float, answers: int, service_cpus: float) -> str:
        """Why the latest answers are not those of now; empty: they are, or there is no request."""
        self._silent_cpu_s += service_cpus * (time_s - self._before_s)
        self._before_s = time_s
        silent_s = time_s - self._last_s
        unheard = silent_s >= _LEAST_S and self._works(silent_s)
        if answers:
            if unheard and self._heard:
                self._burst_s = silent_s
                self._burst_until_s = time_s + _REMEMBERED_S
            self._remember(answers, silent_s)
            self._last_s, self._silent_cpu_s = time_s, 0.0
        if time_s < self._burst_until_s:
            every = _step(self._burst_s)
            return f"answers come in bursts, after {every} s and more: is the log buffered?"
        if unheard and not answers:
            return f"no answer was read for {_step(silent_s)} s and more, while the service worked"
        return ""

    def _works(self, silent_s: float) -> bool:
        if not self._heard:
            return silent_s >= _UNHEARD_S and self._silent_cpu_s >= _UNHEARD_CPUS * silent_s
        usual = self._heard_cpu_s / max(self._heard_s, _LEAST_S)
        expected = self._heard * self._silent_cpu_s / max(self._heard_cpu_s, 1e-9)
        return expected >= _ANSWERS and self._silent_cpu_s >= _USUAL * usual * silent_s

    def _remember(self, answers: int, silent_s: float) -> None:
        """What answers took, of the last minute or so."""
        if self._heard_s > _REMEMBERED_S:
            self._heard, self._heard_s = self._heard / 2, self._heard_s / 2
            self._heard_cpu_s /= 2
        self._heard += answers
        self._heard_s += silent_s
        self._heard_cpu_s += self._silent_cpu_s


def _step(silent_s: float) -> int:
    """The time as one of a few, so that it is told a few times and not at every decision."""
    return next((step for step in _STEPS_S if silent_s >= step), 1)
