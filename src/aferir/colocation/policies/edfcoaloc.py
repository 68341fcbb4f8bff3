"""The rule of EDFCoaloc exactly as published (Oliveira 2022).

The runtime and the deadline of every critical thread are computed from the measured latency
quantile p and the SLA's bound s. The rule does not limit the sum of the reservations to what the
kernel admits, and the period is at least s, so a throttled thread may wait for up to s. The policy
`aferir` avoids both.
"""

from __future__ import annotations

import msgspec

from aferir.colocation.policies.reservation import LEAST_S, LONGEST_S
from aferir.colocation.settings import Batch, Policy, Schedule, Settings, State

INTERVAL_S = 5.0
"""Seconds from one decision to the next."""
LEAST_CPUS = 0.01
"""Smallest limit of the batch in CPUs: with 0 it could never show that it has work to do."""
_FIRST = 0.5
"""Latency quantile p assumed before the first measurement, as a share of the SLA's bound.

The publication gives no value; half is our choice.
"""


def rule(p_s: float, sla_s: float) -> tuple[float, float]:
    """Runtime and deadline in seconds for a quantile of `p_s` seconds."""
    if p_s <= sla_s:
        return p_s / sla_s * (p_s + sla_s) / 2, sla_s
    return sla_s, sla_s * (p_s / sla_s)


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Time of the last decision, and the quantile that it used."""

    decided_s: float | None = None
    p_s: float | None = None
    quota_cpus: float | None = None
    """Limit of the batch until the next decision, in CPUs."""


def edfcoaloc() -> Policy[Memory]:
    """Return a policy that applies the rule every 5 s, equally to all critical threads."""
    return Policy(Memory(), _decide)


def edf_alone() -> Policy[Memory]:
    """Return the rule for the service alone: the publication's scenario without a batch."""

    def decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
        settings, after = _decide(state, memory)
        return msgspec.structs.replace(settings, batch=Batch(suspended=True)), after

    return Policy(Memory(), decide)


def edfcoaloc_limit() -> Policy[Memory]:
    """Return the rule with the limit of the CPU monitor (Oliveira 2022, section 3.2).

    At every decision the batch gets what neither the service nor others used since the last
    decision.
    """

    def decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
        settings, after = _decide(state, memory)
        quota = memory.quota_cpus
        if quota is None or after.decided_s != memory.decided_s:
            quota = min(max(state.idle_cpus + state.batch_cpus, LEAST_CPUS), float(state.cores))
        batch = Batch(quota_cpus=quota)
        after = msgspec.structs.replace(after, quota_cpus=quota)
        return msgspec.structs.replace(settings, batch=batch), after

    return Policy(Memory(), decide)


def _decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
    decided_s = memory.decided_s
    p_s = _FIRST * state.sla.bound_s if memory.p_s is None else memory.p_s
    if decided_s is None or state.time_s - decided_s >= INTERVAL_S:
        decided_s = state.time_s
        p_s = state.latency.quantile_s if state.latency else p_s
    runtime_s, deadline_s = rule(p_s, state.sla.bound_s)
    # Clamp only to what the kernel refuses at any load: too short a runtime, too long a deadline.
    deadline_s = min(deadline_s, LONGEST_S)
    runtime_s = min(max(runtime_s, LEAST_S), deadline_s)
    schedule = Schedule(policy="deadline", runtime_s=runtime_s, period_s=deadline_s)
    threads = {thread.tid: schedule for thread in state.threads}
    return Settings(threads=threads), Memory(decided_s=decided_s, p_s=p_s)
