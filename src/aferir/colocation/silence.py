"""Detects that a service is working although none of its answers is read.

Its log may have gone away, changed its format, or be buffered and written in bursts. The service's
CPU time since the last answer is compared with the CPU time that its answers took so far.
"""

from __future__ import annotations

_LEAST_S = 1.0
"""Longest silence in s that is never reported, as scrapes come every half second."""
_UNHEARD_S = 2.0
_UNHEARD_CPUS = 0.02
"""CPU use above which a service is assumed to work although none of its answers has been read yet.
"""
_ANSWERS = 20
"""Silence is reported if the CPU time used since the last answer is enough for this many
answers."""
_USUAL = 0.3
"""Part of a service's usual CPU use below which the service is assumed to be idle."""
_REMEMBERED_S = 30.0
_STEPS_S = (1000, 300, 100, 30, 10, 3, 1)


class Silence:
    """Compares answers with CPU time; `look` is called at every decision."""

    def __init__(self, time_s: float) -> None:
        self._before_s = self._last_s = time_s
        self._silent_cpu_s = 0.0
        self._heard_s = self._heard_cpu_s = self._heard = 0.0
        self._burst_s = 0.0
        self._burst_until_s = time_s

    def look(self, time_s: float, answers: int, service_cpus: float) -> str:
        """Why the latest answers are not current; "" if they are, or there are no requests."""
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
        """Update the CPU time per answer, which is computed over the last minute or so."""
        if self._heard_s > _REMEMBERED_S:
            self._heard, self._heard_s = self._heard / 2, self._heard_s / 2
            self._heard_cpu_s /= 2
        self._heard += answers
        self._heard_s += silent_s
        self._heard_cpu_s += self._silent_cpu_s


def _step(silent_s: float) -> int:
    """Round the duration down to one of a few steps, so that a message rarely changes."""
    return next((step for step in _STEPS_S if silent_s >= step), 1)
