"""The CPU rule of PARTIES, reimplemented (Chen, Delimitrou, Martinez, ASPLOS 2019).

Every 0.5 s the rule reads the slack of the tail latency. Below 5 % the service gains one core at
once; above 20 % it loses one. If it needs the core back within 30 s, it loses none for the next 30
s. The published system allocates cache, memory and disk bandwidth in the same way; here it
allocates CPUs only. A batch that is left without any core is suspended.
"""

from __future__ import annotations

from aferir.colocation.settings import Batch, Decide, Settings, State

_INTERVAL_S = 0.5
_LITTLE_SLACK = 0.05
_MUCH_SLACK = 0.2
_BACK_OFF_S = 30.0


def parties() -> Decide:
    """Return a policy that moves one core at a time between the service and the batch."""
    return _decide


def _decide(state: State) -> Settings:
    memory = state.now.memory
    decided_s = memory.get("decided_s")
    if decided_s is not None and state.time_s - decided_s < _INTERVAL_S:
        return state.now
    cores = int(memory.get("cores", state.cores // 2 or 1))
    gave_up_s = memory.get("gave_up_s", -_BACK_OFF_S)
    wait_until_s = memory.get("wait_until_s", 0.0)
    slack = 1.0
    if state.latency:
        slack = 1 - state.latency.quantile_s / state.sla.bound_s
    if slack < _LITTLE_SLACK and cores < state.cores:
        cores += 1
        if state.time_s - gave_up_s < _BACK_OFF_S:
            wait_until_s = state.time_s + _BACK_OFF_S
    elif slack > _MUCH_SLACK and cores > 1 and state.time_s >= wait_until_s:
        cores -= 1
        gave_up_s = state.time_s
    rest = tuple(range(cores, state.cores))
    return Settings(
        service_cpus=tuple(range(cores)),
        batch=Batch(cpus=rest, suspended=not rest),
        memory={
            "decided_s": state.time_s,
            "cores": float(cores),
            "gave_up_s": gave_up_s,
            "wait_until_s": wait_until_s,
        },
    )
