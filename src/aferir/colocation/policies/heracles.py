"""The CPU rule of Heracles, reimplemented (Lo et al., ISCA 2015, Algorithm 1).

Every 15 s the rule reads the slack of the tail latency and the load. If the SLA is violated, the
batch is suspended for 5 minutes; above 85 % load it is suspended until the load is below 80 %.
Below 10 % slack it may not grow, below 5 % it loses two of its cores, and otherwise it gains one.
The published system also allocates cache, power and network; here it allocates CPUs only. The load
is the service's share of the machine's CPU time.
"""

from __future__ import annotations

import msgspec

from aferir.colocation.settings import Batch, Policy, Settings, State

_INTERVAL_S = 15.0
_COOL_DOWN_S = 300.0
_HIGH_LOAD, _LOW_LOAD = 0.85, 0.80
_NO_GROWTH, _LITTLE_SLACK = 0.10, 0.05
_GIVEN_UP = 2


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """State that the rule keeps from one decision to the next."""

    decided_s: float | None = None
    """Time of the last decision; None: there was none."""
    cores: int = 1
    """Number of the batch's cores."""
    until_s: float = 0.0
    """Time until which the batch is suspended after a violation of the SLA."""
    held: bool = False
    """Whether the load has been too high for the batch to run."""


def heracles() -> Policy[Memory]:
    """Return the policy; it begins with one core for the batch."""
    return Policy(Memory(), _decide)


def _decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
    if memory.decided_s is not None and state.time_s - memory.decided_s < _INTERVAL_S:
        return state.now, memory
    cores, until_s = memory.cores, memory.until_s
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
    held = load > (_LOW_LOAD if memory.held else _HIGH_LOAD)
    suspended = held or state.time_s < until_s or state.cores == 1
    first = state.cores - cores
    settings = Settings(
        service_cpus=tuple(range(state.cores if suspended else first)),
        batch=Batch(cpus=tuple(range(first, state.cores)), suspended=suspended),
    )
    return settings, Memory(decided_s=state.time_s, cores=cores, until_s=until_s, held=held)
