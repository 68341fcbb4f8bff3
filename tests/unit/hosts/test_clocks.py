"""How clocks of other hosts are told by ours, on simulated time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aferir.hosts import clocks
from aferir.hosts.clocks import Offset
from aferir.model.stamps import Stamp, in_order

SECOND = 10**9
waits = st.integers(0, SECOND)


@given(ahead=st.integers(-(10**18), 10**18), out=waits, back=waits)
def test_the_bound_holds_however_long_a_message_is_on_its_way(
    ahead: int, out: int, back: int
) -> None:
    start, unix = 5 * SECOND, 7 * SECOND
    seen = clocks.look(start, unix + out + ahead, start + out + back, unix + out + back)
    assert abs(seen.ahead_ns - ahead) <= seen.bound_ns


@given(looks=st.lists(st.tuples(waits, waits), min_size=1, max_size=40))
def test_a_clock_30_ppm_off_reorders_no_events(looks: list[tuple[int, int]]) -> None:
    """Looks every three seconds for a while, then an event there and one here after a minute."""
    begun, rate = 10 * SECOND, 30e-6

    def there(now: int) -> int:
        return now + 12345 + round(rate * now)

    kept = None
    for place, (out, back) in enumerate(looks):
        sent = begun + 3 * place * SECOND
        now = sent + out + back
        kept = clocks.closer(kept, clocks.look(sent, there(sent + out), now, now))
    assert kept is not None
    event = begun + (3 * len(looks) + 60) * SECOND
    first = kept.stamp(there(event), event)
    for apart in (1, 1_000, 1_000_000, SECOND, 100 * SECOND):
        second = Stamp(event + apart)
        assert in_order(first, second) in (True, None)
        assert in_order(second, first) in (False, None)
    assert in_order(first, Stamp(event + 100 * SECOND)) is True


def test_a_closer_look_wins_until_it_is_old() -> None:
    close, wide = Offset(0, 1_000, 0), Offset(5, 50_000, SECOND // 10)
    assert clocks.closer(close, wide) == close
    late = Offset(5, 50_000, 10 * SECOND)
    assert clocks.closer(close, late) == late


def test_what_is_said_of_a_clock() -> None:
    year = 31_557_600 * SECOND
    assert clocks.told(Offset(SECOND // 2, 0, 0)) == ""
    assert clocks.told(Offset(-25 * year, 0, 0)) == "its clock is 25 years behind the one here"
    assert clocks.told(Offset(90 * SECOND, 0, 0)) == "its clock is 90 s ahead of the one here"
