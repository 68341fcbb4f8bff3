"""Whether the batch stands behind everybody, or has a share beside others.

In an idle group the batch gets what nobody else wants. Beside others who take what they get, that
is next to nothing, also where the service is far from its SLA and would not notice. So there the
batch weighs as much as one process of everybody's rank, or as its user says
(docs/decisions/batch-share-beside-others.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aferir.colocation.policies import apart, slack
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import State

_NEAR, _FAR = 0.4, 0.2
"""Of the SLA: above the first quantile a share ends, below the second one begins."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 30.0, 600.0
"""After one has ended; twice as long each time."""
_USUAL = 1.0
_EVERYBODYS = 100
_MOST = 10_000
"""Of weights, as control groups of version 2 have them."""


def look(
    state: State, chosen: Parameters, ratio: float, verdict: str, *, beset: bool
) -> dict[str, float]:
    """`share`: whether the batch has one although it might be idle; and what to remember.

    `ratio`: the quantile relative to the SLA, smoothed; `verdict`: of the latest answers. `beset`:
    others use much of the machine. Without a word of the user's they alone are shared with: who
    uses a little may be whom the service works with.
    """
    memory = state.now.memory
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
    """Whether the batch has a rank although it might be idle, and the weight that it has then."""
    if eased["slack"]:
        return True, slack.batch_weight(eased)
    share = _USUAL if chosen.batch_share is None else chosen.batch_share
    return bool(spans["share_now"]), min(max(round(_EVERYBODYS * share), 1), _MOST)
