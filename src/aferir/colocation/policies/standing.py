"""Decides whether the batch yields to all other processes or has a share beside them.

In an idle group, the batch gets only CPU time that no other process wants. Beside processes that
use all they can get, that is almost nothing, even if the service is far below its SLA and would not
be affected. The batch then gets the weight of one normal process, or the weight that its user sets
(docs/decisions/batch-share-beside-others.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aferir.colocation.policies import apart, slack
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.policies.seen import Seen

_NEAR, _FAR = 0.4, 0.2
"""Latency quantiles as parts of the SLA's bound: a share ends above the first, begins below the
second."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 30.0, 600.0
"""First and longest wait in seconds after a share has ended; it doubles each time."""
_USUAL = 1.0
_EVERYBODYS = 100
_MOST = 10_000
"""Largest cpu.weight of a control group of version 2."""


def look(
    state: Seen, chosen: Parameters, ratio: float, verdict: str, *, beset: bool
) -> dict[str, float]:
    """Decide whether the batch has a share although it could be idle (`share_now`).

    Also returns what the next decision needs. `ratio`: smoothed quantile divided by the SLA's
    bound; `verdict`: judgement of the latest answers; `beset`: other processes use much of the
    machine. Unless the user sets a share, the batch gets one only beside such processes, because
    those that use little may be clients or backends of the service.
    """
    memory = state.memory
    wait_s = memory.get("share_wait_s", _FIRST_WAIT_S)
    after_s = memory.get("share_after_s", -math.inf)
    quantile = state.latency.quantile_s / state.sla.bound_s if state.latency else math.inf
    wanted = beset if chosen.batch_share is None else chosen.batch_share > 0
    queues = state.occupied >= apart.FULL
    has = bool(memory.get("share_now"))
    near = verdict != "calm" or ratio > chosen.caution or queues or quantile > _NEAR
    if has and near:
        after_s, wait_s = state.time_s + wait_s, min(2 * wait_s, _LONGEST_WAIT_S)
    begins = max(quantile, ratio) < _FAR and state.time_s >= after_s
    gives = wanted and not near and (has or begins)
    return {"share_now": float(gives), "share_wait_s": wait_s, "share_after_s": after_s}


def rank(
    chosen: Parameters, spans: Mapping[str, float], eased: dict[str, float]
) -> tuple[bool, int]:
    """Whether the batch's group has a weight although it could be idle, and which weight."""
    if eased["slack"]:
        return True, slack.batch_weight(eased)
    share = _USUAL if chosen.batch_share is None else chosen.batch_share
    return bool(spans["share_now"]), min(max(round(_EVERYBODYS * share), 1), _MOST)
