"""EDFCoaloc's published rule, to the letter (Oliveira 2022).

Every critical thread has a runtime and a deadline that follow the measured quantile p and the
SLA s. Nothing keeps the sum of the reservations below what the kernel admits, and the period is
of the SLA's length, so a thread that used its runtime waits up to s: that is what the other
policies here are to do better.
"""

from __future__ import annotations

from aferir.colocation.policies.reservation import LEAST_S, LONGEST_S
from aferir.colocation.settings import Decide, Schedule, Settings, State

INTERVAL_S = 5.0
"""Between two looks at the quantile."""
_FIRST = 0.5
"""The publication gives no first p: half of the SLA."""


def rule(p_s: float, sla_s: float) -> tuple[float, float]:
    """Runtime and deadline, in seconds, for a quantile of `p_s`."""
    if p_s <= sla_s:
        return p_s / sla_s * (p_s + sla_s) / 2, sla_s
    return sla_s, sla_s * (p_s / sla_s)


def edfcoaloc() -> Decide:
    """The rule every five seconds; the same runtime and deadline for all critical threads."""
    return _decide


def _decide(state: State) -> Settings:
    memory = state.now.memory
    decided_s, p_s = memory.get("decided_s"), memory.get("p_s", _FIRST * state.sla.bound_s)
    if decided_s is None or state.time_s - decided_s >= INTERVAL_S:
        decided_s = state.time_s
        p_s = state.latency.quantile_s if state.latency else p_s
    runtime_s, deadline_s = rule(p_s, state.sla.bound_s)
    # Only what the kernel would refuse whatever the load: nothing shorter, nothing longer.
    deadline_s = min(deadline_s, LONGEST_S)
    runtime_s = min(max(runtime_s, LEAST_S), deadline_s)
    schedule = Schedule(policy="deadline", runtime_s=runtime_s, period_s=deadline_s)
    return Settings(
        threads={thread.tid: schedule for thread in state.threads},
        memory={"decided_s": decided_s, "p_s": p_s},
    )
