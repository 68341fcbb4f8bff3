"""The time from one decision to the next."""

from __future__ import annotations

import msgspec
import pytest

from aferir.colocation.job import Tick
from aferir.colocation.pace import STEADY_S, Pace
from aferir.colocation.settings import Batch, Explanation, Settings, State
from tests.unit.colocation.states import latency, state

CALM = Settings(batch=Batch(idle=True))


def steady() -> Pace:
    """A pace after ten seconds in which nothing changed."""
    pace = Pace(0.1)
    periods = [pace.after(Tick(state(time_s=time_s), CALM)) for time_s in (0.0, 5.0, STEADY_S)]
    assert periods == [0.1, 0.1, 0.2]
    return pace


def test_an_explanation_alone_is_no_change() -> None:
    told = msgspec.structs.replace(CALM, explanation=Explanation(why="time has passed"))
    assert steady().after(Tick(state(time_s=11.0), told)) == 0.2


@pytest.mark.parametrize(
    ("seen", "now"),
    [
        (state(time_s=11.0), Settings()),
        (state(time_s=11.0, latency=latency(0.11)), CALM),
        (state(time_s=11.0, latency=None), CALM),
    ],
    ids=["other settings", "latency above half of the SLA", "latency unknown"],
)
def test_any_change_brings_the_period_back_at_once_and_for_long(seen: State, now: Settings) -> None:
    pace = steady()
    assert pace.after(Tick(seen, now)) == 0.1
    assert pace.after(Tick(state(time_s=12.0), now)) == 0.1
