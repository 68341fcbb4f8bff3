"""Conversion of other hosts' clocks to this host's, on simulated time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from aferir.hosts import clocks
from aferir.hosts.clocks import Clock, Offset
from aferir.hosts.environment import series_by_our_clock
from aferir.model.record import Series
from aferir.model.stamps import Stamp, in_order

SECOND = 10**9
HOUR = 3600 * SECOND
START = 1_700_000_000 * SECOND
waits = st.integers(0, SECOND)
trips = st.lists(st.tuples(waits, waits), min_size=1, max_size=40)


class There:
    """A clock that is ahead by `ahead`, and whose rate changes at every whole minute of ours."""

    def __init__(self, ahead: int, rates_ppb: Sequence[int]) -> None:
        self.ahead, self.rates_ppb = ahead, rates_ppb

    def at(self, now: int) -> int:
        left, gained = now - START, Fraction(0)
        for rate in itertools.cycle(self.rates_ppb):
            part = min(left, 60 * SECOND)
            gained += Fraction(part * rate, 10**9)
            left -= part
            if not left:
                break
        return now + self.ahead + round(gained)


def followed(there: There, looks: Sequence[tuple[int, int]], every: int = 3 * SECOND) -> Clock:
    """Clock after exchanges whose messages took that long out and back."""
    kept = None
    for place, (out, back) in enumerate(looks):
        sent = START + every * place
        look = clocks.look(sent, there.at(sent + out), sent + out + back)
        kept = Clock(look) if kept is None else kept.after(look)
    assert kept is not None
    return kept


@given(ahead=st.integers(-(10**18), 10**18), out=waits, back=waits)
def test_the_bound_holds_however_long_a_message_is_on_its_way(
    ahead: int, out: int, back: int
) -> None:
    seen = clocks.look(START, START + out + ahead, START + out + back)
    assert abs(seen.ahead_ns - ahead) <= seen.bound_ns


@given(
    looks=trips,
    ppm=st.integers(-200, 200),
    wander=st.lists(st.integers(-250, 250), min_size=1, max_size=5),
    event=st.integers(0, 3 * HOUR),
)
def test_the_bound_holds_for_every_event_whatever_the_rate(
    looks: list[tuple[int, int]], ppm: int, wander: list[int], event: int
) -> None:
    """The rate wanders within 0.25 ppm on either side of up to 200 ppm."""
    there = There(12_345, [1000 * ppm + w for w in wander])
    clock = followed(there, looks)
    stamp = clock.stamp(there.at(START + event))
    assert abs(stamp.unix_ns - (START + event)) <= stamp.bound_ns


@given(looks=trips)
def test_a_clock_30_ppm_off_reorders_no_events(looks: list[tuple[int, int]]) -> None:
    """Exchanges every three seconds for a while, then an event there and one here an hour later."""
    there = There(12_345, [30_000])
    clock = followed(there, looks)
    event = START + HOUR
    first = clock.stamp(there.at(event))
    for apart in (1, 1_000, 1_000_000, SECOND, 100 * SECOND):
        second = Stamp(event + apart)
        assert in_order(first, second) in (True, None)
        assert in_order(second, first) in (False, None)


@given(
    looks=trips,
    ppm=st.integers(-200, 200),
    begin=st.integers(0, HOUR),
    places=st.lists(st.floats(0, 3600), min_size=1, max_size=9),
)
def test_the_bound_of_a_curve_holds_for_all_its_values(
    looks: list[tuple[int, int]], ppm: int, begin: int, places: list[float]
) -> None:
    """Places are seconds of the clock there, which has another rate."""
    there = There(12_345, [1000 * ppm])
    curve = Series(
        metric="power_w",
        unit="W",
        values=tuple(places),
        along="time_s",
        at=tuple(places),
        began=Stamp(there.at(START + begin)),
    )
    found = series_by_our_clock(curve, followed(there, looks))
    for place in places:
        moment = found.moment(place)
        assert moment is not None
        truth = START + begin + Fraction(place) * SECOND / (1 + Fraction(ppm, 10**6))
        assert abs(moment.unix_ns - truth) <= moment.bound_ns + 2  # both are rounded


def test_a_rate_of_30_ppm_is_learnt_and_orders_what_an_offset_alone_cannot() -> None:
    """Round trips of 200 us, ten minutes long; 108 ms is what 30 ppm make in an hour."""
    there = There(0, [30_000])
    clock = followed(there, [(100_000, 100_000)] * 200)
    assert abs(clock.rate - 30e-6) <= clock.rate_bound < 0.5e-6
    event = START + HOUR
    first, second = clock.stamp(there.at(event)), Stamp(event + 5_000_000)
    assert in_order(first, second) is True
    alone = Clock(clock.latest)
    assert in_order(alone.stamp(there.at(event)), second) is None


def test_a_rate_is_not_learnt_from_exchanges_that_are_too_near_to_each_other() -> None:
    clock = followed(There(0, [30_000]), [(100_000, 100_000)] * 5, every=200_000)
    assert (clock.earlier, clock.rate, clock.rate_bound) == (None, 0.0, clocks.RATE_LIMIT)


def test_an_exchange_that_was_long_on_its_way_changes_nothing() -> None:
    clock = followed(There(0, [0]), [(1_000, 1_000)] * 20)
    slow = clocks.look(START + 60 * SECOND, START + 61 * SECOND, START + 62 * SECOND)
    assert clock.after(slow) == clock


def test_a_machine_that_was_suspended_is_told_anew() -> None:
    """The clock there stood still for a minute: older exchanges contradict the newest."""
    clock = followed(There(0, [0]), [(1_000, 1_000)] * 20)
    sent = START + 120 * SECOND
    late = clocks.look(sent, sent - 60 * SECOND, sent + 2_000)
    assert clock.after(late) == Clock(late)


def test_what_is_said_of_a_clock() -> None:
    year = 31_557_600 * SECOND
    assert clocks.told(Offset(SECOND // 2, 0, 0)) == ""
    assert clocks.told(Offset(-25 * year, 0, 0)) == "its clock is 25 years behind the one here"
    assert clocks.told(Offset(90 * SECOND, 0, 0)) == "its clock is 90 s ahead of the one here"
