"""ElasticMovie's steps without hosts: their searches, stored results, and refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clouds.base import Phase, PhaseName
from aferir.clouds.simulated import CLIENTS_ADDRESS, Host, Layout, address_of, commands
from aferir.elastic import measured, rates
from aferir.elastic.allocation import doubts
from aferir.elastic.capacity import Trial, pace, search
from aferir.elastic.front import Settings
from aferir.elastic.metrics import Trace
from aferir.elastic.movie import Show, _demand_and_supply, _over_time, intended
from aferir.elastic.program import ALLOCATION, MOVIE
from aferir.elastic.simulate import Load
from aferir.elastic.video import Video
from aferir.elastic.viewers import Viewing, Watched
from aferir.errors import ProgramError
from tests.unit.programs.taking import wrong_with

VIDEO = Video(seconds=20.0)


@given(
    truth=st.integers(0, 5000),
    guess=st.floats(1, 5000),
    resolution=st.sampled_from([0.01, 0.05, 0.2]),
)
def test_the_search_ends_within_its_resolution_of_what_a_host_sustains(
    truth: int, guess: float, resolution: float
) -> None:
    tried = []

    async def sustains(streams: int) -> bool:
        tried.append(streams)
        return streams <= truth

    found = asyncio.run(search(sustains, guess=guess, resolution=resolution, most=4000))
    assert found <= min(truth, 4000)
    assert found + max(1.0, resolution * found) >= min(truth, 4000)
    assert len(tried) < 40


def watched(clients: int, bytes_by_second: list[int], streaming: list[int]) -> Watched:
    given: dict[str, Any] = dict.fromkeys(Watched.__struct_fields__, 0)
    given["clients"] = clients
    given["bytes_by_second"] = tuple(bytes_by_second)
    given["streaming_by_second"] = tuple(streaming)
    return Watched(**given)


def test_the_pace_is_of_the_seconds_in_which_all_watched() -> None:
    # Coming, all there for two whole seconds, going; 4 and 2 viewers at 1,000 bit/s each.
    first = watched(4, [900, 900, 500, 460, 90], [2, 4, 4, 4, 0])
    second = watched(2, [900, 270, 270, 90], [2, 2, 2, 0])
    assert pace([first], 1000.0) == pytest.approx(8 * 480 / 4000)
    assert pace([first, second], 1000.0) == pytest.approx(8 * (480 + 270) / 6000)
    assert pace([watched(4, [900, 900], [3, 4])], 1000.0) is None


@given(
    viewers=st.integers(1, 100),
    link_bps=st.floats(1e3, 1e5),
    video_s=st.integers(10, 60),
)
def test_more_streams_than_fit_the_link_are_seen_though_buffers_hide_it(
    viewers: int, link_bps: float, video_s: int
) -> None:
    """A link that is shared fairly, and a start-up buffer as long as the video: nobody sees it."""
    sent_bps = min(1.1 * 1000.0 * viewers, link_bps)
    second = round(sent_bps / 8)
    seen = watched(viewers, [second] * (video_s - 1), [viewers] * (video_s - 2) + [0])
    made = Trial(viewers, violated=0, lost=0, own_violations=0, pace=pace([seen], 1000.0))
    if not 0.99 < link_bps / (1000 * viewers) < 1.01:
        assert made.sustained == (link_bps > 1000 * viewers)


def adaptive(seconds_at_rate: tuple[float, ...], **changes: Any) -> Watched:
    seen = watched(10, [], [])
    rates = (0.5e6, 1e6, 2e6)
    return msgspec.structs.replace(
        seen, rates_bps=rates, seconds_at_rate=seconds_at_rate, **changes
    )


def test_rates_are_weighed_by_the_video_that_came_at_them() -> None:
    seen = adaptive((100.0, 0.0, 300.0), switches=7, violations=2)
    assert rates.mean_rate_bps([seen]) == (50e6 + 600e6) / 400
    assert {one.metric: one.value for one in rates.of_rates([seen])} == {
        "mean_rate_bps": 1.625e6,
        "switches": 7.0,
        "stalls": 2.0,
    }
    (shares,) = rates.rate_shares([seen])
    assert (shares.values, shares.at) == ((0.25, 0.0, 0.75), seen.rates_bps)
    one_file = msgspec.structs.replace(seen, rates_bps=(), seconds_at_rate=())
    assert rates.of_rates([one_file]) == ()
    assert rates.rate_shares([one_file]) == ()


def test_segments_keep_pace_if_buffers_become_fuller_and_nothing_stalls() -> None:
    fuller = adaptive((0.0, 0.0, 100.0), gained_s=20.0)
    assert rates.pace([fuller]) == pytest.approx(1.25)
    assert rates.pace([fuller, adaptive((0.0, 0.0, 100.0), gained_s=-21.0)]) < 1  # type: ignore[operator]
    assert rates.pace([adaptive((0.0, 0.0, 100.0), stalled_s=25.0)]) == pytest.approx(0.8)
    assert rates.pace([adaptive((0.0, 0.0, 0.0))]) is None


def show(seed: int, repetition: int) -> Show:
    return Show(
        load=Load(clients=50, interarrival_s=0.1, video_s=20.0),
        policy=Settings(clients_per_node=10, patience_s=1.0),
        viewing=Viewing(startup_s=1.0),
        seed=(seed, repetition),
    )


def test_the_same_seed_gives_the_same_arrivals_and_each_repetition_its_own() -> None:
    assert intended(show(1, 0)) == intended(show(1, 0))
    assert intended(show(1, 0)) != intended(show(1, 1))
    assert intended(show(1, 0)) != intended(show(2, 0))


def test_a_curve_over_time_begins_at_0_and_holds_each_state_until_the_next() -> None:
    series = _over_time("instances", "1", (0.25, 0.35, 1.0), (1, 2, 0))
    assert series.at[0] == 0.0
    held = dict(zip((round(float(at), 1) for at in series.at), series.values, strict=True))
    assert [held[at] for at in (0.0, 0.2, 0.3, 0.4, 0.9, 1.0)] == [0, 0, 1, 2, 2, 0]
    long = _over_time("clients", "1", tuple(float(k) for k in range(9000)), tuple(range(9000)))
    assert len(long.at) <= 501


def test_clients_and_the_room_for_them_are_one_picture() -> None:
    trace = Trace(times_s=(0.0, 1.0, 2.0), clients=(3, 7, 0), nodes=(1, 2, 0))
    clients, room, instances = _demand_and_supply(trace, 5)
    assert (clients.metric, clients.at) == (room.metric, room.at)
    assert (max(clients.values), max(room.values), max(instances.values)) == (7, 10, 2)
    assert (room.label, instances.label) == ("room of the instances", "")


def test_what_the_first_steps_found_configures_the_third(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    layout = Layout(rate_bps=250e6)
    assert measured.load(layout, VIDEO).clients_per_node(2) is None
    measured.keep_streams(layout, VIDEO, 2, 85)
    measured.keep_streams(layout, VIDEO, 0, 90)
    for seconds in range(30):
        measured.keep_allocation(layout, VIDEO, "cold", float(seconds))
    found = measured.load(layout, VIDEO)
    assert (found.clients_per_node(2), found.clients_per_node(0)) == (42, 90)
    assert found.allocation_s["cold"] == tuple(float(s) for s in range(10, 30))
    assert measured.load(Layout(rate_bps=100e6), VIDEO).streams == {}
    # A host that sustained nothing has no capacity that Nodes could be filled to.
    measured.keep_streams(layout, VIDEO, 2, 0)
    assert measured.load(layout, VIDEO).clients_per_node(2) is None
    cut = Video(seconds=20.0, bitrate_bps=VIDEO.bitrate_bps, rates_bps=(1e6, VIDEO.bitrate_bps))
    assert measured.load(layout, cut).streams == {}
    faster = Video(seconds=20.0, sent_bps=4e6)
    assert measured.load(layout, faster).streams == {}


def test_phases_that_do_not_add_up_are_doubted() -> None:
    def phases(*seconds: float | None) -> list[Phase]:
        names: tuple[PhaseName, ...] = ("TeF", "TcI", "TiI")
        return [
            Phase(name=name, seconds=value, source="a test", resolution_s=0.0)
            for name, value in zip(names, seconds, strict=True)
        ]

    assert doubts(phases(0.1, 0.4, 0.5), 1.05) == ()
    assert [one.code for one in doubts(phases(0.1, 0.4, 0.5), 1.2)] == ["phases-differ"]
    assert doubts(phases(None, 0.5, 0.5), 1.0)[0].code == "not-observable"


def test_simulated_hosts_never_show_on_this_machine() -> None:
    hosts = tuple(Host(k, f"h{k}", Path("/nowhere")) for k in (1, 2))
    for command in commands("clients", hosts, 1e8):
        told = command[:2] + [word for word in command if word in ("-n", "netns")]
        assert "-n" in told or "netns" in told, command
    found = {address_of(host, place) for host in range(1, 65) for place in range(321)}
    assert len(found) == 64 * 321
    assert CLIENTS_ADDRESS not in found
    assert all(one.startswith("10.77.") for one in found)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"technology": "zone"}, "technology"),
        ({"hosts": 0}, "hosts"),
        ({"video": True}, "video"),
        ({"rate_mbit": "fast"}, "rate_mbit"),
    ],
)
def test_an_impossible_parameter_is_named(parameters: dict[str, str], wrong: str) -> None:
    (said,) = wrong_with(ALLOCATION, parameters)
    assert said.startswith(f"{wrong}: ")
    assert wrong_with(ALLOCATION, {"technology": "vm", "hosts": 2, "video": 20}) == []
    video = {"rates_mbit": "0.5, 1, 2", "segment": 2}
    assert wrong_with(MOVIE, video) == []
    for key, value in {
        "rates_mbit": "0.5, fast",
        "bitrate_mbit": 1.0,
        "content": "random-bytes",
        "sent_mbit": 0.4,
        "buffer": 3.0,
    }.items():
        (said,) = wrong_with(MOVIE, {**video, key: value})
        assert said.startswith(f"{key}: ")
    assert wrong_with(MOVIE, {"dask": "tcp://10.0.0.2:8786", "front": "10.0.0.1"}) == []
    (said,) = wrong_with(MOVIE, {"front": 10})
    assert said.startswith("front: ")


def test_an_unbalanced_book_is_no_figure() -> None:
    line = '{"program":"elastic-movie","verified":false,"error":"clients are missing","samples":[]}'
    with pytest.raises(ProgramError, match="clients are missing"):
        MOVIE.parse(line)
    for wrong in ("", "{}", '{"program":"elastic-movie","verified":true,"samples":[1]}'):
        with pytest.raises(ProgramError):
            MOVIE.parse(wrong)
