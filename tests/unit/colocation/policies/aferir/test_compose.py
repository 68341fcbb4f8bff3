"""Settings of each mode, combined with share and weight."""

from __future__ import annotations

import msgspec
import pytest

from aferir.colocation.policies.aferir.compose import compose
from aferir.colocation.policies.aferir.reserve import plan
from aferir.colocation.policies.aferir.share import Share
from aferir.colocation.policies.aferir.signals import observe
from aferir.colocation.policies.aferir.view import Mode, Modes, View
from aferir.colocation.policies.aferir.weight import Weight
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import Batch, Schedule, Settings
from tests.unit.colocation.states import state

CHOSEN = Parameters()
STATE = state()
SIGNALS = observe(STATE, None, CHOSEN)
VIEW = View(
    state=STATE,
    signals=SIGNALS,
    plan=plan(STATE, SIGNALS, CHOSEN),
    chosen=CHOSEN,
    before=Modes(),
    limited=False,
    lightest=True,
)
IDLE = Batch(policy="idle", idle=True)


def composed(mode: Mode, share: Share | None = None, weight: int = 0) -> Settings:
    modes = Modes(mode=mode, since_s=190.0, own_cpus=1 if mode is Mode.APART else 0)
    return compose(VIEW, modes, share or Share(), Weight(step=weight))


@pytest.mark.parametrize(
    ("mode", "batch"),
    [
        (Mode.YIELD, IDLE),
        (Mode.FIRST, IDLE),
        (Mode.COMPANY, IDLE),
        (Mode.RESERVED, Batch()),
        (Mode.WEIGHTED, Batch(weight=10)),
        (Mode.SHARED, Batch()),
        (Mode.APART, Batch(cpus=(1,))),
    ],
)
def test_the_mode_determines_the_rank_of_the_batch(mode: Mode, batch: Batch) -> None:
    assert composed(mode, weight=2).batch == batch


def test_only_two_modes_reserve_and_only_one_is_above_everybody() -> None:
    assert {mode for mode in Mode if composed(mode).threads} == {Mode.RESERVED, Mode.CONTENDED}
    fifo = Schedule(policy="fifo", priority=1)
    assert {mode for mode in Mode if composed(mode).service == fifo} == {Mode.FIRST}


@pytest.mark.parametrize(
    ("share", "quota_cpus", "suspended"),
    [(1.0, None, False), (0.5, 0.96, False), (0.0, None, True), (0.01, 0.08, False)],
)
def test_the_share_is_a_quota_in_steps_or_a_suspension(
    share: float, quota_cpus: float | None, suspended: bool
) -> None:
    for mode in Mode:
        made = composed(mode, Share(share=share)).batch
        assert made.suspended is suspended
        assert made.quota_cpus == (quota_cpus and pytest.approx(quota_cpus))


def test_the_share_changes_nothing_else() -> None:
    for mode in Mode:
        cut = composed(mode, Share(share=0.5))
        whole = msgspec.structs.replace(cut.batch, quota_cpus=None)
        assert msgspec.structs.replace(cut, batch=whole) == composed(mode)


def test_the_later_of_two_changes_is_explained() -> None:
    cut = Share(share=0.5, changed_s=195.0, why="the SLA was violated")
    assert composed(Mode.FIRST, cut).explanation.why == "the SLA was violated"
    earlier = msgspec.structs.replace(cut, changed_s=180.0)
    assert composed(Mode.FIRST, earlier).explanation.since_s == 190.0
