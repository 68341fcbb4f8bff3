"""One audience in several places: no viewer is lost, and clocks are known as claimed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.elastic.audience import (
    Clock,
    Part,
    Seen,
    clock_of,
    health,
    shares,
    together,
    uncertainty_s,
    unhealthy,
)
from aferir.elastic.front import Books, Settings
from aferir.elastic.movie import Show, _doubts
from aferir.elastic.simulate import Load
from aferir.elastic.spread import SpreadAudience
from aferir.elastic.viewers import Viewing, Watched
from aferir.errors import UsageError

SECONDS = st.floats(0, 1e4)
DELAYS = st.floats(1e-5, 1.0)


def part(host: str = "h", startups_s: tuple[float, ...] = (), **changes: Any) -> Part:
    given_: dict[str, Any] = dict.fromkeys(Watched.__struct_fields__, 0)
    columns = ("bytes_by_second", "streaming_by_second", "rates_bps", "seconds_at_rate")
    given_ |= dict.fromkeys(columns, ()) | changes
    return Part(host=host, watched=Watched(**given_), intended_s=(), startups_s=startups_s)


@given(times_s=st.lists(SECONDS, max_size=50).map(sorted), places=st.integers(1, 60))
def test_every_viewer_comes_once_in_one_place_in_the_order_of_the_schedule(
    times_s: list[float], places: int
) -> None:
    made = shares(times_s, places)
    assert len(made) == places
    assert sorted(time for share in made for time in share) == times_s
    assert all(list(share) == sorted(share) for share in made)
    assert max(map(len, made)) - min(map(len, made)) <= 1


@given(
    ahead_s=st.floats(-1e5, 1e5),
    delays=st.lists(st.tuples(SECONDS, DELAYS, DELAYS), min_size=1, max_size=20),
)
def test_the_true_difference_of_two_clocks_is_within_what_is_said_of_it(
    ahead_s: float, delays: list[tuple[float, float, float]]
) -> None:
    found = clock_of(
        [(asked, asked + out + ahead_s, asked + out + back) for asked, out, back in delays]
    )
    assert abs(found.ahead_s - ahead_s) <= found.uncertainty_s + 1e-9
    assert found.uncertainty_s <= min(out + back for _, out, back in delays) / 2 + 1e-9


@given(
    ahead_s=st.floats(-10, 10),
    drift=st.floats(-1e-3, 1e-3),
    errors=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    least=st.floats(0, 0.1),
    share=st.floats(0, 1),
)
def test_a_start_that_followed_the_first_look_was_off_by_no_more_at_any_time_of_the_run(
    ahead_s: float, drift: float, errors: tuple[float, float], least: float, share: float
) -> None:
    end_s = 600.0
    true_after_s = ahead_s + drift * end_s
    before = Clock(ahead_s + errors[0] * least, least)
    after = Clock(true_after_s + errors[1] * least, least)
    true_s = ahead_s + drift * end_s * share
    assert abs(true_s - before.ahead_s) <= uncertainty_s(before, after) + 1e-9


def test_parts_together_are_what_one_program_would_have_seen() -> None:
    first = part(
        startups_s=(0.5, 0.1, 0.9),
        clients=3,
        served=3,
        violations=2,
        longest_stall_s=0.5,
        stalled_s=0.7,
        duration_s=9.0,
        bytes_by_second=(5, 5),
        streaming_by_second=(1, 0),
    )
    second = part(
        startups_s=(0.2, 0.3),
        clients=3,
        served=2,
        blocked=1,
        longest_stall_s=0.2,
        stalled_s=0.2,
        duration_s=4.0,
        worst_start_s=0.3,
        bytes_by_second=(1, 2, 3),
        streaming_by_second=(1, 1, 0),
    )
    whole = together([first, second])
    assert (whole.clients, whole.served, whole.blocked, whole.violations) == (6, 5, 1, 2)
    assert whole.stalled_s == pytest.approx(0.9)
    assert whole.longest_stall_s == 0.5
    assert (whole.duration_s, whole.worst_start_s) == (9.0, 0.3)
    assert whole.bytes_by_second == (6, 7, 3)
    assert whole.streaming_by_second == (2, 1, 0)
    assert (whole.startup_median_s, whole.startup_max_s) == (0.3, 0.9)
    assert together([part(clients=1)]).startup_p95_s == 0.0


def test_each_hosts_health_is_told_apart() -> None:
    parts = [part("a", own_violations=2), part("b"), part("a", own_violations=1, cpu_s=3.0)]
    by_metric = {series.metric: series for series in health(parts)}
    assert list(by_metric["own_violations"].at) == ["a", "b", "a/2"]
    assert list(by_metric["own_violations"].values) == [2, 0, 1]
    assert list(by_metric["viewers_cpu_s"].values) == [0, 0, 3.0]
    assert unhealthy(parts) == "a (2), a/2 (1)"


def test_a_host_that_let_viewers_in_late_or_was_unsure_of_the_start_is_named() -> None:
    show = Show(
        load=Load(clients=1, interarrival_s=0.01, video_s=1.0),
        policy=Settings(clients_per_node=1, patience_s=1.0),
        viewing=Viewing(startup_s=0.5),
        seed=(1, 0),
    )
    books = Books()

    def codes(made: Part) -> set[str]:
        seen = Seen(watched=together([made]), parts=(made,))
        return {doubt.code for doubt in _doubts(show, books, seen)}

    assert codes(part()) == set()
    assert codes(part(worst_start_s=0.11)) == {"late-viewers"}
    assert codes(part(own_violations=1)) == {"own-violations"}
    unsure = msgspec.structs.replace(part(), uncertainty_s=0.02)
    assert codes(unsure) == {"clocks-differ"}


class Workers:
    """The part of a Dask client that lists the workers' addresses."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.addresses, 1)


def test_front_on_loopback_is_refused_to_workers_elsewhere() -> None:
    SpreadAudience(Workers("tcp://127.0.0.1:4000")).require_reach("127.0.0.1")
    far = SpreadAudience(Workers("tcp://127.0.0.1:4000", "tls://10.0.0.7:4000"))
    far.require_reach("10.0.0.1")
    with pytest.raises(UsageError, match=r"10\.0\.0\.7") as refused:
        far.require_reach("127.0.0.1")
    assert "--front" in refused.value.remedy
