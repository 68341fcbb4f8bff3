"""Several sources read side by side, and the meter of one piece of work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import AferirError, UsageError
from aferir.linux import steady
from aferir.power.base import Description, PowerError, Reading
from aferir.power.meter import Meter
from aferir.power.sources import source
from aferir.power.watch import disagreements, mean_of, watch


class Scripted:
    def __init__(self, watts: Iterator[float], step: float = 0.0) -> None:
        self.watts = watts
        self.step = step

    def describe(self) -> Description:
        return Description(name="s", scope="server", resolution_w=self.step, most_w=400)

    def read(self) -> Reading:
        return Reading(power_w=next(self.watts))


def test_sources_are_watched_side_by_side_and_nonsense_is_counted() -> None:
    now = [0.0]
    rng = np.random.default_rng(2)

    def pause(seconds: float) -> None:
        now[0] += seconds

    sane = Scripted(iter(rng.normal(200, 2, 100)), step=1.0)
    mad = Scripted(iter([100.0, 9999.0, -5.0] * 40))
    first, second = watch(
        {"sane": sane, "mad": mad}, seconds=20, every_s=1, clock=lambda: now[0], pause=pause
    )
    assert len(first.power_w) == 21
    assert set(second.power_w) == {100.0}
    assert sum(second.refused.values()) == 14
    mean = mean_of(first)
    assert mean is not None
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < 200 < mean.high
    [apart] = disagreements([first, second])
    assert apart.difference_w == pytest.approx(100, abs=2)


@pytest.mark.parametrize(
    "text", ["", "rapl:1", "nut", "nut:", "snmp:1.3", "nut:a@h:0", "model:", "wat"]
)
def test_what_is_no_source_is_said(text: str) -> None:
    with pytest.raises(UsageError):
        source(text)


@given(st.text(max_size=40))
def test_any_name_is_a_source_or_an_error(text: str) -> None:
    try:
        source(text)
    except AferirError:
        return


def test_a_meter_counts_the_work_alone_and_reads_once_more_at_its_end() -> None:
    class Stepped:
        def __init__(self) -> None:
            self.watts = 50.0

        def describe(self) -> Description:
            return Description(name="s", scope="server", most_w=400)

        def read(self) -> Reading:
            return Reading(power_w=self.watts)

    device = Stepped()
    before_ns = steady.unix_ns()
    with Meter(device) as meter:
        time.sleep(0.1)  # what comes before is read, and not counted
        device.watts = 200.0
        with meter.counting():
            time.sleep(0.2)
    assert meter.taken is not None
    assert set(meter.taken.power_w) == {200.0}
    assert meter.taken.energy_j == pytest.approx(200 * meter.taken.seconds)
    assert meter.taken.seconds >= 0.2
    after_ns = steady.unix_ns()
    for at_s in meter.taken.at_s:
        assert before_ns < meter.taken.began.unix_ns + at_s * 1e9 < after_ns


def test_a_meter_whose_source_fails_knows_nothing_and_why() -> None:
    class Dead(Scripted):
        def read(self) -> Reading:
            raise PowerError("does not answer")

    with Meter(Dead(iter([]))) as meter, meter.counting():
        pass
    assert meter.taken is not None
    assert meter.taken.energy_j is None
    assert "does not answer" in meter.taken.refused


def test_work_that_fails_ends_its_meter() -> None:
    meter = Meter(Scripted(iter([100.0] * 99)))
    with pytest.raises(ZeroDivisionError), meter, meter.counting():
        raise ZeroDivisionError
    assert meter.taken is None
    assert all(one.name != "power" for one in threading.enumerate())
    with Meter(None) as nothing, nothing.counting():
        pass
    assert nothing.taken is None
