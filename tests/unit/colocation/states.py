"""States that a policy of co-location may observe, and its settings for a state that lasts."""

from __future__ import annotations

from typing import Any

from aferir.colocation.settings import Latency, Policy, Settings, Sla, State, ThreadUse

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


class Step(Settings, frozen=True, kw_only=True):
    """Settings of one decision, its time, and the memory that the policy returned with them."""

    memory: Any
    time_s: float = 0.0


def step(policy: Policy[Any], seen: State) -> Step:
    """Return the next decision of the policy; it goes on where the step in `seen.now` ended."""
    memory = seen.now.memory if isinstance(seen.now, Step) else policy.begin
    settings, memory = policy.decide(seen, memory)
    fields = {name: getattr(settings, name) for name in Settings.__struct_fields__}
    return Step(**fields, memory=memory, time_s=seen.time_s)


def lived(
    policy: Policy[Any], seconds: float, first: Step | None = None, **given: Any
) -> list[Step]:
    """Return all decisions of so many seconds in which only the time changes.

    It begins at 100 s, or a control period after `first`.
    """
    now: Settings = first or Settings()
    begins_s = first.time_s + 0.1 if first else 100.0
    made = []
    for turn in range(round(seconds * 10)):
        now = step(policy, state(**{**given, "time_s": begins_s + turn / 10, "now": now}))
        made.append(now)
    return made


def live(policy: Policy[Any], seconds: float, first: Step | None = None, **given: Any) -> Step:
    """Return the last of those decisions."""
    return lived(policy, seconds, first, **given)[-1]
