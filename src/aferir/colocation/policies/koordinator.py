"""Koordinator's rule for suppressing best-effort work, in our own words.

Best-effort pods get what is left below a threshold of the node: capacity x threshold, minus what
latency-sensitive pods and the system use. Source: koordinator.sh, "CPU Suppress"
(cpuSuppressThresholdPercent 65, cpuSuppressPolicy cfsQuota); Kubernetes gives such pods 2 of 1024
cpu.shares. Latency is never looked at.
"""

from __future__ import annotations

from aferir.colocation.settings import Batch, Decide, Settings, State

_THRESHOLD = 0.65
_LEAST_CPUS = 0.02
"""Koordinator never goes below 2 ms of CPU time in 100 ms."""
_WEIGHT = 1
_MOST_GROWTH = 0.1
"""Of the node's capacity from one decision to the next, as its quota grows (it falls at once)."""
_INTERVAL_S = 1.0


def koordinator() -> Decide:
    """The quota every second."""
    return _decide


def _decide(state: State) -> Settings:
    memory = state.now.memory
    decided_s = memory.get("decided_s")
    if decided_s is not None and state.time_s - decided_s < _INTERVAL_S:
        return state.now
    others = state.cores - state.idle_cpus - state.service_cpus - state.batch_cpus
    left = state.cores * _THRESHOLD - state.service_cpus - max(others, 0.0)
    before = state.now.batch.quota_cpus
    if before is not None:
        left = min(left, before + _MOST_GROWTH * state.cores)
    return Settings(
        batch=Batch(weight=_WEIGHT, quota_cpus=max(left, _LEAST_CPUS)),
        memory={"decided_s": state.time_s},
    )
