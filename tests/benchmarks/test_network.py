"""The bench of networks: comparison of two programs' curves, and shaping of the link."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.aggregation.measure import Curve
from aferir.errors import ProgramError
from aferir.linux.namespace import Pair
from aferir.model.bench import Figure
from aferir.model.network import one_after_another
from aferir.selftest.options import BenchOptions
from benchmarks.network import agreement, bench, cut, sizes
from benchmarks.network.sizes import Range, Turn

SIZES = (1, 64, 1024)
Times = dict[int, float]


def turns_of(*pairs: tuple[Times, Times]) -> list[Turn]:
    return [Turn(ours, theirs, k % 2 == 0) for k, (ours, theirs) in enumerate(pairs)]


def figures(*pairs: tuple[Times, Times]) -> dict[str, Figure]:
    return {f.name: f for f in sizes.judge("here", turns_of(*pairs))}


def drawn(seed: int, *, slower: float) -> list[Turn]:
    """60 turns on a machine of two speeds, a third apart for some runs, and a noise of 4 %.

    At 64 bytes ours takes `slower` times as long as it would.
    """
    draw = random.Random(seed)  # noqa: S311 - not cryptography
    turns = []
    speed = 1.0
    for k in range(60):
        curves: list[Times] = []
        for factor in (slower, 1.0):
            speed = draw.choice((1.0, 1.4)) if draw.random() < 0.1 else speed
            noise = {size: draw.gauss(1, 0.04) for size in SIZES}
            curves.append({s: speed * noise[s] * (factor if s == 64 else 1) for s in SIZES})
        turns.append(Turn(curves[0], curves[1], k % 2 == 0))
    return turns


def test_runs_are_compared_with_the_run_beside_them() -> None:
    fast, slow = ({size: time * size for size in SIZES} for time in (1e-5, 9e-5))
    found = figures((slow, slow), (slow, slow), (fast, fast), (fast, fast), (fast, slow))
    worst = found["here.worst_disagreement"]
    assert worst.value == pytest.approx(0)
    assert worst.holds
    assert worst.n == 3
    assert found["here.latency"].value == pytest.approx(1e-5)
    assert found["here.latency"].peer_value == pytest.approx(9e-5)
    assert found["here.latency"].ratio == pytest.approx(1)
    assert found["here.throughput"].value == pytest.approx(1e5)
    assert found["here.throughput"].n == 5


@pytest.mark.parametrize("seed", range(20))
def test_two_speeds_of_a_machine_are_no_difference_and_hide_none(seed: int) -> None:
    alike, apart = drawn(seed, slower=1.0), drawn(seed, slower=1.1)
    assert sizes.judge("here", alike)[0].holds
    assert not sizes.judge("here", apart)[0].holds
    assert 64 in sizes.unsettled(apart)


def test_where_the_peer_does_not_agree_with_itself_nothing_agrees() -> None:
    first, second = dict.fromkeys(SIZES, 1e-5), dict.fromkeys(SIZES, 2e-5)
    found = figures((first, first), (second, second))
    itself = found["here.netpipe_with_itself"]
    assert itself.value == pytest.approx(50)
    assert "3 sizes" in itself.note
    assert found["here.worst_disagreement"].value == pytest.approx(0)
    assert found["here.worst_disagreement"].holds is False
    assert sizes.unsettled(turns_of((first, first), (second, second))) == list(SIZES)


def test_two_runs_of_the_peer_with_another_run_between_are_no_neighbours() -> None:
    first, second = dict.fromkeys(SIZES, 1e-5), dict.fromkeys(SIZES, 2e-5)
    alternating = [Turn(first, first, False), Turn(second, second, True)]
    assert "here.netpipe_with_itself" not in {f.name for f in sizes.judge("here", alternating)}


@pytest.mark.parametrize(("factor", "holds"), [(1.04, True), (0.96, True), (1.06, False)])
def test_one_size_with_a_larger_difference_misses_the_target(factor: float, holds: bool) -> None:
    theirs = dict.fromkeys(SIZES, 1e-5)
    found = figures((theirs | {64: 1e-5 * factor}, theirs))
    assert found["here.worst_disagreement"].value == pytest.approx(100 * abs(factor - 1))
    assert found["here.worst_disagreement"].holds is holds
    assert "64 bytes" in found["here.worst_disagreement"].note


def sizes_of(part: Range) -> set[int]:
    """Message sizes that both programs measure in a range, by the main loop of NetPIPE."""
    step, point, size = max(part.least // 2, 1), int(part.least > 1), part.least
    found = set()
    while size <= part.most:
        step *= 2 if point > 2 and point % 2 == 1 else 1
        found |= {size - 3, size, size + 3} if step > 4 and size > 3 else {size}
        size += step
        point += 1
    return found


RANGES = (Range(1, 12288, 100, 7), Range(16384, 2**20, 5, 3))


@pytest.mark.parametrize(
    ("apart", "again"),
    [
        ([], []),
        ([1], [(1, 1)]),
        ([2051, 2045], [(1024, 2048)]),
        ([2051, 3069, 49155], [(1024, 2048), (2048, 3072), (32768, 49152)]),
    ],
)
def test_sizes_that_are_apart_are_measured_again(
    apart: list[int], again: list[tuple[int, int]]
) -> None:
    found = sizes.around(apart, RANGES)
    assert [(part.least, part.most) for part in found] == again
    assert all(part.turns == (7 if part.most <= 16384 else 3) for part in found)


@pytest.mark.parametrize("size", sorted({size for part in RANGES for size in sizes_of(part)}))
def test_a_size_to_be_measured_again_is_in_the_range_around_it(size: int) -> None:
    assert size in {again for part in sizes.around([size], RANGES) for again in sizes_of(part)}


def test_programs_without_a_common_size_do_not_agree() -> None:
    assert figures(({1: 1e-5}, {2: 1e-5}))["here.worst_disagreement"].value is None
    assert figures()["here.worst_disagreement"].holds is None


curves = st.dictionaries(st.integers(1, 2**20), st.floats(1e-9, 10), max_size=5)
many_turns = st.lists(st.builds(Turn, curves, curves, st.booleans()), max_size=4)


@settings(deadline=None)
@given(turns=many_turns)
def test_the_target_holds_where_nothing_is_left_to_measure_again(turns: list[Turn]) -> None:
    worst = sizes.judge("here", turns)[0]
    if worst.value is not None:
        assert worst.holds is (sizes.unsettled(turns) == [])
        assert not worst.holds or worst.value <= sizes.AGREEMENT_PERCENT


@settings(deadline=None)
@given(turns=many_turns)
def test_exchanging_the_two_programs_inverts_the_ratios(turns: list[Turn]) -> None:
    for turn in turns:
        exchanged = Turn(turn.theirs, turn.ours, not turn.ours_first).ratios()
        assert exchanged == pytest.approx({size: 1 / r for size, r in turn.ratios().items()})


def test_both_ends_of_the_link_are_shaped_and_send_packets_as_they_are() -> None:
    pair = Pair("s", "c", "10.0.0.1", "10.0.0.2", "eth0", Path("/nowhere"), "mark")
    lines = [" ".join(line) for line in agreement.shaping(pair)]
    for name in ("s", "c"):
        inside = f"ip netns exec {name} "
        assert f"{inside}ethtool -K eth0 tso off gso off gro off" in lines
        assert any(
            line.startswith(f"{inside}tc qdisc add dev eth0 root tbf rate 1gbit burst 3kb")
            for line in lines
        )


def test_a_figure_that_cannot_be_measured_is_reported_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = bench.run(BenchOptions(quick=True), lambda *_: None)
    assert {figure.value for figure in result.figures} == {None}
    assert all(figure.note and figure.holds is None for figure in result.figures)


def test_a_sweep_that_says_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_run", lambda *_: "nothing")
    wire = agreement.Wire("here", ("true",))
    for measure in (agreement._sweep, agreement._netpipe):
        with pytest.raises(ProgramError):
            measure(wire, Path("program"), Range(1, 2, 3, 1))


def test_only_a_cut_of_a_link_that_carries_something_counts() -> None:
    at_s = tuple(round(k / 10, 1) for k in range(70))
    busy_until_3 = tuple(3e6 if one < 3 else 2e4 for one in at_s)
    idle_until_3 = tuple(2e4 if one < 3 else 3e6 for one in at_s)
    events = one_after_another(2, 1.0, 2.5)

    def hit(*links: tuple[float, ...]) -> int:
        curves = (Curve(f"eth{k}", at_s, bps) for k, bps in enumerate(links))
        return cut.links_hit(tuple(curves), events)

    assert hit(busy_until_3, idle_until_3) == 2
    assert hit(idle_until_3, busy_until_3) == 0
    assert hit(busy_until_3, busy_until_3) == 1
    assert hit() == 0
