"""Detects other processes that use the CPUs, and decides when the service outranks them.

Processes that use little may be ones that the service works for or with: a client, a proxy, a
database. Outranking them adds latency that no log of the service shows. The batch therefore yields
to them, and the service outranks them only while it is at its SLA, for longer each time. Processes
that use much simply take what they can get (docs/decisions/others-are-company.md).
"""

from __future__ import annotations

import math

from aferir.colocation.policies import first
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.seen import Seen

_ITSELF = 0.08
"""Share of the machine below which use by others is taken for the system's own housekeeping."""
_LOOKS_S = 1.5
"""Seconds at the start in which nothing outranks other processes, to measure what they use."""
_SMOOTHED_S = 2.0
_LONGEST_HOLD_S = 600.0
"""Longest time in seconds for which reservations outrank processes that use little."""


def look(state: Seen, chosen: Parameters, past_s: float, *, late: bool) -> dict[str, float]:
    """Decide how long other processes count as competing and how long reservations are used.

    Returns, as times on the clock of `State.time_s`: until when others are present
    (`company_until_s`), use much (`beset_until_s`), are outranked by reservations
    (`reserved_until_s`), and until when there are no reservations (`fair_until_s`); and what the
    next decision needs. `late`: the service is at its SLA. `past_s`: seconds since the last
    decision.
    """
    memory, now_s = state.memory, state.time_s
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
        # Requests that queued before the reservations began do not count against them.
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


def _others(state: Seen) -> float:
    """CPUs used by processes other than the service and the batch.

    Processes that have a reservation of their own are not counted: nothing here delays them.
    """
    used = state.cores - state.idle_cpus - state.steal_cpus - state.others_reserved_cpus
    return max(used - state.service_cpus - state.batch_cpus, 0.0)


def _smooth(state: Seen, name: str, now: float, past_s: float) -> float:
    """The value smoothed over 2 s; during the first 2 s, the mean since the start."""
    memory = state.memory
    before = memory.get(name, 0.0)
    over_s = min(max(state.time_s - memory.get("since_s", state.time_s), past_s), _SMOOTHED_S)
    return before + (now - before) * (past_s / over_s if over_s > 0 else 0.0)
