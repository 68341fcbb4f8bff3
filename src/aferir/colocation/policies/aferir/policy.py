"""One decision: observe, choose the mode, the weight and the share, and compose the settings."""

from __future__ import annotations

import msgspec

from aferir.colocation.policies.aferir import share, weight
from aferir.colocation.policies.aferir.compose import compose
from aferir.colocation.policies.aferir.mode import step
from aferir.colocation.policies.aferir.reserve import plan
from aferir.colocation.policies.aferir.share import Share
from aferir.colocation.policies.aferir.signals import Signals, observe
from aferir.colocation.policies.aferir.view import Modes, View
from aferir.colocation.policies.aferir.weight import Weight
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import Policy, Settings, State


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the policy: one part for each module, which only that module writes."""

    signals: Signals | None = None
    modes: Modes = Modes()
    weight: Weight = Weight()
    share: Share = Share()


def aferir(parameters: Parameters | None = None) -> Policy[Memory]:
    """Return the policy with `parameters`, or with the defaults."""
    chosen = parameters or Parameters()
    return Policy(Memory(), lambda state, memory: _decide(state, memory, chosen))


def _decide(state: State, memory: Memory, chosen: Parameters) -> tuple[Settings, Memory]:
    signals = observe(state, memory.signals, chosen)
    settling_s = share.settling_s(state, signals, chosen)
    view = View(
        state=state,
        signals=signals,
        plan=plan(state, signals, chosen),
        chosen=chosen,
        before=memory.modes,
        limited=memory.share.share < 1 or chosen.batch_share == 0,
        lightest=memory.weight.step == 0 and signals.time_s - memory.weight.cut_s >= settling_s,
    )
    modes = step(view)
    weighs = weight.control(view, modes.mode, memory.weight, settling_s)
    quiet_s = signals.time_s - max(weighs.cut_s, memory.share.cut_s, modes.since_s)
    shared = share.control(state, signals, chosen, memory.share, quiet_s=quiet_s)
    now = Memory(signals=signals, modes=modes, weight=weighs, share=shared)
    return compose(view, modes, shared, weighs), now
