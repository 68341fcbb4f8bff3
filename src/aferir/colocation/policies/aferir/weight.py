"""The batch's weight in the fair class while it is in the mode `weighted`.

With more weight, a batch with fewer threads than there are CPUs gets more CPU time, but service
threads that wake on one of its CPUs wait longer. The weight goes from 1 to the default of 100 in
steps, each a factor of 10^0.5: one step up while the quantile is far below the SLA, two down when
it nears the SLA or requests queue.
"""

from __future__ import annotations

import math

import msgspec

from aferir.colocation.policies.aferir.view import Mode, View

_DOWN = 2
"""Number of steps by which a cut lowers the weight: together a factor of 10."""
_HIGHEST = 2 * _DOWN
"""Number of the highest step, at which the weight is 100, a control group's default."""


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """The batch's weight as a number of steps, and its limit after an earlier cut."""

    step: int = 0
    changed_s: float = -math.inf
    cut_s: float = -math.inf
    ceiling: int = _HIGHEST
    """Highest step that is allowed until `hold_s` after the last cut."""

    @property
    def value(self) -> int:
        """The weight of the control group (cpu.weight)."""
        return int(10 ** (self.step / _DOWN) + 1e-9)


def control(view: View, mode: Mode, before: Weight, settling_s: float) -> Weight:
    """Return the next weight; it starts from the lowest except after the mode `apart`."""
    signals, chosen, now_s = view.signals, view.chosen, view.signals.time_s
    if mode is not Mode.WEIGHTED:
        step = before.step if mode is Mode.APART else 0
        return msgspec.structs.replace(before, step=step, changed_s=now_s)
    if view.over or signals.late or view.fills > chosen.full:
        if before.step == 0 or now_s - before.cut_s < settling_s:
            return before
        gone = signals.late or signals.quantile > chosen.caution
        step = 0 if gone else max(before.step - _DOWN, 0)
        return Weight(step=step, changed_s=now_s, cut_s=now_s, ceiling=max(before.step - 1, 0))
    highest = before.ceiling if now_s - before.cut_s < chosen.hold_s else _HIGHEST
    lacks = math.ceil(signals.busy) - signals.busy > chosen.least_share
    easy = signals.quantile < chosen.far and view.fills < chosen.free
    waited = now_s - before.changed_s >= chosen.patience_s / 2
    if easy and lacks and waited and before.step < highest:
        return msgspec.structs.replace(before, step=before.step + 1, changed_s=now_s)
    return before
