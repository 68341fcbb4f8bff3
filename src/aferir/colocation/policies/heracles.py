"""The rule of Heracles for processors, in our own words (Lo et al., ISCA 2015, Algorithm 1).

Every 15 s the slack of the tail latency and the load are looked at. Without slack the batch work
stops for five minutes; above 85 % of the load it stops until the load is below 80 %. Below 10 % of
slack it may not grow, below 5 % it gives up two of its cores; otherwise it gets one core more. The
published system moves cache, power and network as well; only processors are moved here. The load
is what the service uses of the machine's processors.
"""

from __future__ import annotations

from aferir.colocation.settings import Batch, Decide, Settings, State

_INTERVAL_S = 15.0
_COOL_DOWN_S = 300.0
_HIGH_LOAD, _LOW_LOAD = 0.85, 0.80
_NO_GROWTH, _LITTLE_SLACK = 0.10, 0.05
_GIVEN_UP = 2


def heracles() -> Decide:
    """Begin with one core for the batch work."""
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
