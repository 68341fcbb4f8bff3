"""EDFCoaloc's mechanism with a PID controller, which the publication names as future work."""

from __future__ import annotations

import msgspec

from aferir.colocation.policies.reservation import Reservation, plan
from aferir.colocation.settings import Policy, Settings, State

_LEAST_SHARE = 0.05


class Gains(msgspec.Struct, frozen=True, kw_only=True):
    """Gains that map the quantile's distance from its target to the reserved share of CPUs."""

    target: float = 0.5
    """Target of the quantile divided by the SLA's bound."""
    proportional: float = 0.8
    integral_per_s: float = 0.4
    derivative_s: float = 0.05
    period: float = 0.25
    """Period of the reservations divided by the SLA's bound."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """State that the controller keeps from one decision to the next."""

    time_s: float | None = None
    """Time of the last decision; None: there was none."""
    integral: float = 0.5
    error: float | None = None
    """Last distance of the quantile from its target; None: no quantile has been seen."""


def pid(gains: Gains | None = None) -> Policy[Memory]:
    """Return a policy that reserves more CPU time, the further the quantile is above its target.

    All critical threads get the same share.
    """
    chosen = gains or Gains()
    return Policy(Memory(), lambda state, memory: _decide(state, memory, chosen))


def _decide(state: State, memory: Memory, gains: Gains) -> tuple[Settings, Memory]:
    past_s = 0.0 if memory.time_s is None else max(state.time_s - memory.time_s, 0.0)
    error = memory.error or 0.0
    slope = 0.0
    if state.latency:
        now = state.latency.quantile_s / state.sla.bound_s - gains.target
        slope = (now - error) / past_s if past_s > 0 and memory.error is not None else 0.0
        error = min(now, 1.0)
    seen = error if state.latency else memory.error
    # The integral is clamped to what can be set; otherwise it would wind up and recover late.
    integral = min(max(memory.integral + gains.integral_per_s * error * past_s, _LEAST_SHARE), 1.0)
    share = integral + gains.proportional * error + gains.derivative_s * slope
    share = min(max(share, _LEAST_SHARE), 1.0)
    wanted = [Reservation(thread.tid, 1.0) for thread in state.threads]
    threads = plan(
        wanted,
        # In steps of a hundredth: rewriting every thread for less is not worth it.
        round(share, 2) * state.reservable_cpus,
        period_s=gains.period * state.sla.bound_s,
    )
    return Settings(threads=threads), Memory(time_s=state.time_s, integral=integral, error=seen)
