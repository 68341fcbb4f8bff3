"""Others who work beside the service, and when the service is to go before them.

Those who use a little may be whom the service works for or with: a client, a proxy, a database.
Going before them makes late what no log of the service tells, so the batch gives way to them, and
they do to the service only where its SLA asks for it: for longer each time. Those who use much take
what they get (docs/decisions/others-are-company.md).
"""

from __future__ import annotations

import math

from aferir.colocation.policies import first
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import State

_ITSELF = 0.08
"""Share of the machine: what it does for itself is no company."""
_LOOKS_S = 1.5
"""For so long it is seen at first what others use whom nobody holds up."""
_SMOOTHED_S = 2.0
_LONGEST_HOLD_S = 600.0
"""Of reservations that others are to give way to."""


def look(state: State, chosen: Parameters, past_s: float, *, late: bool) -> dict[str, float]:
    """Until when there is company, much of it, reservations for all, none; and what to remember.

    `late`: the service is at its SLA.
    """
    memory, now_s = state.now.memory, state.time_s
    reserved_s = memory.get("reserved_s", now_s) if first.reserved(state) else now_s
    reserved_until_s = memory.get("reserved_until_s", -math.inf)
    company_until_s = memory.get("company_until_s", -math.inf)
    beset_until_s = memory.get("beset_until_s", -math.inf)
    fair_until_s = memory.get("fair_until_s", now_s + _LOOKS_S)
    longer_s = memory.get("longer_s", chosen.hold_s)
    others = _smooth(state, "others", _others(state), past_s)
    served = _smooth(state, "served", state.service_cpus, past_s)
    if now_s - memory.get("since_s", now_s) >= _LOOKS_S:
        left = 1.0 - served / state.cores
        if others > max(chosen.company * left, _ITSELF * state.cores):
            company_until_s = now_s + chosen.hold_s
        if others > chosen.competition * state.cores:
            beset_until_s = now_s + chosen.hold_s
            reserved_until_s = max(reserved_until_s, beset_until_s)
    if now_s >= company_until_s:
        longer_s = chosen.hold_s
        # What piled up before the reservations is not their fault.
        if late and now_s - reserved_s >= chosen.patience_s:
            fair_until_s = now_s + 3 * chosen.hold_s
    elif late and now_s >= reserved_until_s:
        reserved_until_s, longer_s = now_s + longer_s, min(2 * longer_s, _LONGEST_HOLD_S)
    return {
        "others": others,
        "served": served,
        "reserved_s": reserved_s,
        "reserved_until_s": reserved_until_s,
        "company_until_s": company_until_s,
        "beset_until_s": beset_until_s,
        "fair_until_s": fair_until_s,
        "longer_s": longer_s,
    }


def _others(state: State) -> float:
    """CPUs that neither the service nor the batch uses, nor anybody of whom nothing is taken."""
    used = state.cores - state.idle_cpus - state.steal_cpus - state.others_reserved_cpus
    return max(used - state.service_cpus - state.batch_cpus, 0.0)


def _smooth(state: State, name: str, now: float, past_s: float) -> float:
    """Over two seconds; at first the mean of what there was."""
    memory = state.now.memory
    before = memory.get(name, 0.0)
    over_s = min(max(state.time_s - memory.get("since_s", state.time_s), past_s), _SMOOTHED_S)
    return before + (now - before) * (past_s / over_s if over_s > 0 else 0.0)
