"""Composes a decision's settings from mode, share and weight; no other module makes settings."""

from __future__ import annotations

import math

from aferir.colocation.policies.aferir.share import Share
from aferir.colocation.policies.aferir.view import Mode, Modes, View
from aferir.colocation.policies.aferir.weight import Weight
from aferir.colocation.settings import Batch, Explanation, Schedule, Settings

_EVERYBODYS, _MOST = 100, 10_000
"""Default weight of a control group, and the largest (cpu.weight of version 2)."""
_FIFO = Schedule(policy="fifo", priority=1)


def compose(view: View, modes: Modes, share: Share, weight: Weight) -> Settings:
    """Return the settings of this decision."""
    cores, rank = view.state.cores, _rank(view, modes, weight)
    first = cores - modes.own_cpus
    grain = view.chosen.least_share / 2  # smaller changes are not worth a write
    quota_cpus = max(math.floor(share.share / grain + 1e-9), 1) * grain * cores
    cut_later = share.changed_s > modes.since_s
    return Settings(
        threads=_threads(view, modes.mode),
        service=_service(view, modes.mode),
        service_cpus=tuple(range(first)) if modes.own_cpus else (),
        batch=Batch(
            policy="other" if rank else "idle",
            idle=not rank,
            weight=rank or _EVERYBODYS,
            quota_cpus=quota_cpus if 0 < share.share < 1 else None,
            cpus=tuple(range(first, cores)),
            suspended=share.share <= 0,
        ),
        explanation=Explanation(
            mode=modes.mode.value,
            why=(share if cut_later else modes).why,
            since_s=max(modes.since_s, share.changed_s, view.signals.began_s),
        ),
    )


def _threads(view: View, mode: Mode) -> dict[int, Schedule]:
    if mode in (Mode.CONTENDED, Mode.RESERVED):
        return view.plan.schedules()
    if mode is not Mode.WEIGHTED or not view.heavy:
        return {}
    # Beside a batch, the fair class leaves two workers on one CPU because no other CPU is idle.
    workers, cores = view.plan.workers(), view.state.cores
    return {tid: Schedule(cpus=(place % cores,)) for place, tid in enumerate(workers)}


def _service(view: View, mode: Mode) -> Schedule:
    """Schedule of those threads of the service that have no reservation.

    Nice values have no effect between control groups and sessions (autogroups, sched(7)), so
    SCHED_FIFO is the only remedy if others compete, nothing can be reserved, and the SLA is
    violated.
    """
    helpless = mode is Mode.CONTENDED and not view.plan.shares
    if mode is Mode.FIRST or (helpless and view.signals.lately.active):
        return _FIFO
    pressed = helpless or (mode is Mode.SHARED and view.signals.beset.active)
    return Schedule(nice=-20 if pressed else 0)


def _rank(view: View, modes: Modes, weight: Weight) -> int:
    """Weight of the batch's group; 0: it is idle as a whole."""
    mode = modes.mode
    wished = 1.0 if view.chosen.batch_share is None else view.chosen.batch_share
    if wished == 0:
        return 0
    if mode is Mode.WEIGHTED:
        return weight.value
    # Reservations outrank the fair class, so the batch need not be idle too, unless that failed.
    if mode in (Mode.APART, Mode.RESERVED):
        return _EVERYBODYS
    outranked = bool(view.plan.shares) and not modes.late.active
    if mode is Mode.SHARED or (mode is Mode.CONTENDED and view.signals.beset.active and outranked):
        return min(max(round(_EVERYBODYS * wished), 1), _MOST)
    return 0
