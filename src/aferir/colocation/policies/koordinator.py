"""Koordinator's rule for suppressing best-effort work, reimplemented.

Best-effort pods get capacity x threshold, minus what latency-sensitive pods and the system use.
Source: koordinator.sh, "CPU Suppress" (cpuSuppressThresholdPercent 65, cpuSuppressPolicy cfsQuota);
Kubernetes gives such pods 2 of 1,024 cpu.shares. The rule does not use latency.
"""

from __future__ import annotations

import msgspec

from aferir.colocation.settings import Batch, Policy, Settings, State

_THRESHOLD = 0.65
_LEAST_CPUS = 0.02
"""Smallest quota in CPUs: Koordinator's minimum is 2 ms of CPU time in 100 ms."""
_WEIGHT = 1
_MOST_GROWTH = 0.1
"""Largest growth of the quota per decision, as a share of the node's capacity; reductions are not
limited.
"""
_INTERVAL_S = 1.0


class Memory(msgspec.Struct, frozen=True):
    """Time of the last decision; None: there was none."""

    decided_s: float | None = None


def koordinator() -> Policy[Memory]:
    """Return a policy that computes the quota every second."""
    return Policy(Memory(), _decide)


def _decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
    if memory.decided_s is not None and state.time_s - memory.decided_s < _INTERVAL_S:
        return state.now, memory
    others = state.cores - state.idle_cpus - state.service_cpus - state.batch_cpus
    left = state.cores * _THRESHOLD - state.service_cpus - max(others, 0.0)
    before = state.now.batch.quota_cpus
    if before is not None:
        left = min(left, before + _MOST_GROWTH * state.cores)
    batch = Batch(weight=_WEIGHT, quota_cpus=max(left, _LEAST_CPUS))
    return Settings(batch=batch), Memory(state.time_s)
