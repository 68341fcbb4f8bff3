"""The CPU rule of PARTIES, reimplemented (Chen, Delimitrou, Martinez, ASPLOS 2019).

Every 0.5 s the rule reads the slack of the tail latency. Below 5 % the service gains one core at
once; above 20 % it loses one. If it needs the core back within 30 s, it loses none for the next 30
s. The published system allocates cache, memory and disk bandwidth in the same way; here it
allocates CPUs only. A batch that is left without any core is suspended.
"""

from __future__ import annotations

import math

import msgspec

from aferir.colocation.settings import Batch, Policy, Settings, State

_INTERVAL_S = 0.5
_LITTLE_SLACK = 0.05
_MUCH_SLACK = 0.2
_BACK_OFF_S = 30.0


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """State that the rule keeps from one decision to the next."""

    decided_s: float | None = None
    """Time of the last decision; None: there was none."""
    cores: int = 0
    """Cores of the service; 0: half of the machine's, as at the start."""
    gave_up_s: float = -math.inf
    """Time at which the service last lost a core."""
    wait_until_s: float = 0.0
    """Time until which the service loses no core."""


def parties() -> Policy[Memory]:
    """Return a policy that moves one core at a time between the service and the batch."""
    return Policy(Memory(), _decide)


def _decide(state: State, memory: Memory) -> tuple[Settings, Memory]:
    if memory.decided_s is not None and state.time_s - memory.decided_s < _INTERVAL_S:
        return state.now, memory
    cores = memory.cores or state.cores // 2 or 1
    gave_up_s, wait_until_s = memory.gave_up_s, memory.wait_until_s
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
    settings = Settings(
        service_cpus=tuple(range(cores)), batch=Batch(cpus=rest, suspended=not rest)
    )
    return settings, Memory(
        decided_s=state.time_s, cores=cores, gave_up_s=gave_up_s, wait_until_s=wait_until_s
    )
