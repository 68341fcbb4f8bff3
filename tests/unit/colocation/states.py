"""States that a policy of co-location may see, and what it makes of one that stays."""

from __future__ import annotations

from typing import Any

from aferir.colocation.settings import Decide, Latency, Settings, Sla, State, ThreadUse

SLA = Sla(quantile=0.95, bound_s=0.2)


def latency(quantile_s: float, n: int = 100, spread: float = 0.1) -> Latency:
    return Latency(
        quantile_s=quantile_s,
        low_s=quantile_s * (1 - spread),
        high_s=quantile_s * (1 + spread),
        n=n,
    )


def state(**given: Any) -> State:
    threads = tuple(ThreadUse(tid=tid, name="t", cpus=0.1) for tid in range(1, 5))
    usual: dict[str, Any] = {
        "time_s": 100.0,
        "sla": SLA,
        "latency": latency(0.05),
        "rate": 100.0,
        "threads": threads,
        "service_cpus": 0.5,
        "batch_cpus": 1.4,
        "idle_cpus": 0.1,
        "cores": 2,
        "reservable_cpus": 1.8,
    }
    return State(**{**usual, **given})


def live(decide: Decide, seconds: float, first: Settings | None = None, **given: Any) -> Settings:
    """The settings after so many seconds in which nothing changes but the time."""
    now = first or Settings()
    for turn in range(round(seconds * 10)):
        now = decide(state(**{**given, "time_s": 100 + turn / 10, "now": now}))
    return now
