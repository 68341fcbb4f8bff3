"""The CPU rule of Heracles, reimplemented (Lo et al., ISCA 2015, Algorithm 1).

Every 15 s the rule reads the slack of the tail latency and the load. If the SLA is violated, the
batch is suspended for 5 minutes; above 85 % load it is suspended until the load is below 80 %.
Below 10 % slack it may not grow, below 5 % it loses two of its cores, and otherwise it gains one.
The published system also allocates cache, power and network; here it allocates CPUs only. The load
is the service's share of the machine's CPU time.
"""

from __future__ import annotations

from aferir.colocation.settings import Batch, Decide, Settings, State

_INTERVAL_S = 15.0
_COOL_DOWN_S = 300.0
_HIGH_LOAD, _LOW_LOAD = 0.85, 0.80
_NO_GROWTH, _LITTLE_SLACK = 0.10, 0.05
_GIVEN_UP = 2


def heracles() -> Decide:
    """Return the policy; it begins with one core for the batch."""
    return _decide


def _decide(state: State) -> Settings:
    memory = state.now.memory
    decided_s = memory.get("decided_s")
    if decided_s is not None and state.time_s - decided_s < _INTERVAL_S:
        return state.now
    cores = int(memory.get("cores", 1))
    until_s = memory.get("until_s", 0.0)
    load = state.service_cpus / state.cores
    slack = 1.0
    if state.latency:
        slack = 1 - state.latency.quantile_s / state.sla.bound_s
    if slack < 0:
        until_s, cores = state.time_s + _COOL_DOWN_S, 1
    elif slack < _LITTLE_SLACK:
        cores = max(1, cores - _GIVEN_UP)
    elif slack >= _NO_GROWTH and cores < state.cores - 1:
        cores += 1
    held = bool(memory.get("held", 0.0))
    held = load > (_LOW_LOAD if held else _HIGH_LOAD)
    suspended = held or state.time_s < until_s or state.cores == 1
    first = state.cores - cores
    return Settings(
        service_cpus=tuple(range(state.cores if suspended else first)),
        batch=Batch(cpus=tuple(range(first, state.cores)), suspended=suspended),
        memory={
            "decided_s": state.time_s,
            "cores": float(cores),
            "until_s": until_s,
            "held": float(held),
        },
    )
