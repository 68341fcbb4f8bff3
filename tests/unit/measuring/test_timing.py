"""Times of series that a program reports, bounded by its start and its end."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from aferir.linux.process import Completed
from aferir.measuring.timing import placed
from aferir.model.record import Series
from aferir.model.stamps import Stamp

START = 1_700_000_000 * 10**9
LATENCY = Series(metric="latency_s", unit="s", values=(1.0, 2.0), along="time_s", at=(0.5, 8.0))


def ran(seconds: float, bound_ns: int = 0) -> Completed:
    return Completed(
        command=("x",),
        exit_code=0,
        stdout="",
        stderr="",
        started_unix_ns=START,
        duration_s=seconds,
        started_bound_ns=bound_ns,
    )


@given(before=st.floats(0, 100), after=st.floats(0, 100), ppm=st.integers(-700, 700))
def test_every_value_is_within_its_bound(before: float, after: float, ppm: int) -> None:
    """The program's own clock is off by that much, and its curve begins `before` s after it."""
    rate = 1 + ppm * 1e-6
    found = placed(LATENCY, ran(before + 8.0 / rate + after, bound_ns=1))
    if found.began is None:  # the program's clock has it longer than it ran
        assert before + 8.0 / rate + after < 8.0
        return
    for place in LATENCY.at:
        moment = found.moment(place)
        assert moment is not None
        truth = START + round((before + float(place) / rate) * 1e9)
        assert abs(moment.unix_ns - truth) <= moment.bound_ns


def test_what_is_known_already_or_is_no_time_of_the_run_is_left_as_it_is() -> None:
    known = msgspec.structs.replace(LATENCY, began=Stamp(1, 2))
    sizes = msgspec.structs.replace(LATENCY, along="message_bytes")
    words = msgspec.structs.replace(LATENCY, at=("a", "b"))
    for one in (known, sizes, words):
        assert placed(one, ran(100.0)) == one
    assert placed(LATENCY, ran(7.0)) == LATENCY  # hours of a simulation, say
    assert [sizes.moment(1.0), words.moment("a"), LATENCY.moment(0.5)] == [None, None, None]
