"""The bench of networks: judging two programs' curves, and what shapes the link."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.bench import net, net_agreement
from aferir.bench.options import BenchOptions
from aferir.environments.namespace import Pair
from aferir.errors import ProgramError
from aferir.model.bench import Figure

SIZES = (1, 64, 1024)


def figures(ours: list[dict[int, float]], theirs: list[dict[int, float]]) -> dict[str, Figure]:
    return {f.name: f for f in net_agreement.judge("here", ours, theirs)}


def test_the_lower_quartile_of_the_runs_is_compared_size_by_size() -> None:
    quiet = {size: 1e-5 * size for size in SIZES}
    busy = {size: 9e-5 * size for size in SIZES}
    odd = {size: 1e-6 * size for size in SIZES}
    found = figures([odd, quiet, quiet, busy, busy], [quiet])
    worst = found["here.worst_disagreement"]
    assert worst.value == pytest.approx(0)
    assert worst.holds
    assert worst.n == 3
    assert found["here.latency"].value == 1e-5
    assert found["here.throughput"].value == pytest.approx(1e5)
    assert found["here.throughput"].n == 5
    assert "here.netpipe_with_itself" not in found


def test_the_noise_of_the_peer_is_said() -> None:
    quiet = dict.fromkeys(SIZES, 1e-5)
    busy = dict.fromkeys(SIZES, 2e-5)
    found = figures([quiet], [quiet, busy, quiet, busy])["here.netpipe_with_itself"]
    assert found.value == pytest.approx(50)
    assert "3 sizes" in found.note


@pytest.mark.parametrize(("factor", "holds"), [(1.04, True), (0.96, True), (1.06, False)])
def test_one_size_that_is_further_apart_misses_the_target(factor: float, holds: bool) -> None:
    theirs = dict.fromkeys(SIZES, 1e-5)
    found = figures([theirs | {64: 1e-5 * factor}], [theirs])
    assert found["here.worst_disagreement"].value == pytest.approx(100 * abs(factor - 1))
    assert found["here.worst_disagreement"].holds is holds
    assert "64 bytes" in found["here.worst_disagreement"].note


@pytest.mark.parametrize(
    ("apart", "again"),
    [
        ([], []),
        ([1], [(1, 1)]),
        ([2051, 2045], [(1536, 2048)]),
        ([2051, 3069, 49155], [(1536, 2048), (2048, 3072), (32768, 49152)]),
    ],
)
def test_sizes_that_are_apart_are_measured_again(
    apart: list[int], again: list[tuple[int, int]]
) -> None:
    ranges = (net_agreement.Range(1, 16384, 100, 7), net_agreement.Range(24576, 2**20, 5, 3))
    found = net_agreement.around(apart, ranges)
    assert [(part.least, part.most) for part in found] == again
    assert all(part.runs == (7 if part.most <= 16384 else 3) for part in found)


def test_sizes_are_apart_by_more_than_the_target() -> None:
    theirs = dict.fromkeys(SIZES, 1e-5)
    assert net_agreement.apart_at([theirs | {64: 1.06e-5}], [theirs]) == [64]
    assert net_agreement.apart_at([theirs], [theirs]) == []


def test_nothing_in_common_is_no_agreement() -> None:
    assert figures([{1: 1e-5}], [{2: 1e-5}])["here.worst_disagreement"].value is None
    assert figures([], [])["here.worst_disagreement"].holds is None


curves = st.lists(
    st.dictionaries(st.integers(1, 2**20), st.floats(1e-9, 10), max_size=5), max_size=4
)


@settings(deadline=None)
@given(ours=curves, theirs=curves)
def test_holds_says_that_no_size_is_further_apart(
    ours: list[dict[int, float]], theirs: list[dict[int, float]]
) -> None:
    worst = figures(ours, theirs)["here.worst_disagreement"]
    if worst.value is not None:
        assert worst.holds is (worst.value <= net_agreement.AGREEMENT_PERCENT)


def test_both_ends_of_the_link_are_shaped_and_send_packets_as_they_are() -> None:
    pair = Pair("s", "c", "10.0.0.1", "10.0.0.2", "eth0", Path("/nowhere"), "mark")
    lines = [" ".join(line) for line in net_agreement.shaping(pair)]
    for name in ("s", "c"):
        inside = f"ip netns exec {name} "
        assert f"{inside}ethtool -K eth0 tso off gso off gro off" in lines
        assert any(
            line.startswith(f"{inside}tc qdisc add dev eth0 root tbf rate 1gbit burst 3kb")
            for line in lines
        )


def test_what_cannot_be_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = net.run(BenchOptions(quick=True), lambda *_: None)
    assert {figure.value for figure in result.figures} == {None}
    assert all(figure.note and figure.holds is None for figure in result.figures)


def test_a_sweep_that_says_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_agreement, "_run", lambda *_: "nothing")
    wire = net_agreement.Wire("here", ("true",))
    for measure in (net_agreement._sweep, net_agreement._netpipe):
        with pytest.raises(ProgramError):
            measure(wire, Path("program"), net_agreement.Range(1, 2, 3, 1))
