"""b_eff: parameters, command, figures, and comparison with the HPC Challenge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import ProgramError, UnverifiedError
from aferir.model.record import Sample, Series
from aferir.programs.effective_bandwidth import CHALLENGE, EFFECTIVE_BANDWIDTH, METHODS
from benchmarks.cluster.network import judge, judge_reproducible, read_challenge
from tests.unit.programs.taking import memory_of, wrong_with

SUMMARY = """Begin of Summary section.
MaxPingPongLatency_usec=0.398639
AvgPingPongLatency_usec=0.395306
AvgPingPongBandwidth_GBytes=6.18634
NaturallyOrderedRingLatency_usec=0.2921
NaturallyOrderedRingBandwidth_GBytes=7.42235
RandomlyOrderedRingLatency_usec=2.95041e-01
RandomlyOrderedRingBandwidth_GBytes=3.09743
End of Summary section.
"""


def line(**changes: object) -> dict[str, Any]:
    sizes = [2**k for k in range(21)]
    figures: dict[str, Any] = dict.fromkeys(CHALLENGE, 2.0)
    figures |= dict.fromkeys([f"{method}_bps" for method in METHODS], 3.0)
    figures |= {"program": "b-eff", "verified": True, "duration_s": 1.5, "b_eff_bps": 6.0}
    figures |= {"rings_bps": 4.0, "random_bps": 9.0, "largest_message_bps": 10.0}
    figures |= {"message_bytes": sizes, "rings_by_size_bps": sizes, "random_by_size_bps": sizes}
    return figures | changes


def test_a_message_takes_two_processes() -> None:
    assert not wrong_with(EFFECTIVE_BANDWIDTH, {})
    assert not wrong_with(EFFECTIVE_BANDWIDTH, {"processes": 3, "mpi": "mpich", "budget_ms": 5})
    assert "2 to" in wrong_with(EFFECTIVE_BANDWIDTH, {"processes": 1})[0]
    assert wrong_with(EFFECTIVE_BANDWIDTH, {"memory_bytes": 5})
    assert wrong_with(EFFECTIVE_BANDWIDTH, {"mpi": "lam"})
    assert "1 to 3" in wrong_with(EFFECTIVE_BANDWIDTH, {"repetitions": 4})[0]


def test_memory_grows_with_processes_and_messages_up_to_the_largest() -> None:
    def need(**given: int) -> int:
        return memory_of(EFFECTIVE_BANDWIDTH, given)

    assert need(processes=2) < need(processes=3)
    assert need(memory_bytes=2**28) < need(memory_bytes=2**31)
    assert need(memory_bytes=2**40) == need(memory_bytes=2**34)


def test_figures_and_curves_of_a_verified_run() -> None:
    found = EFFECTIVE_BANDWIDTH.parse(json.dumps(line()))
    samples = {one.metric: one.value for one in found if isinstance(one, Sample)}
    curves = {(one.metric, one.label): one for one in found if isinstance(one, Series)}
    assert samples["b_eff_bps"] == 6.0
    assert set(CHALLENGE) <= samples.keys()
    assert len(curves["bandwidth_bps", "rings"].at) == 21
    assert curves["bandwidth_by_method_bps", ""].at == METHODS


@pytest.mark.parametrize(
    "changes",
    [
        {"b_eff_bps": 0},
        {"b_eff_bps": None},
        {"message_bytes": []},
        {"message_bytes": [1, "2"]},
        {"program": "b"},
        {"natural_ring_latency_s": -1},
    ],
)
def test_unreadable_figures_give_none(changes: dict[str, object]) -> None:
    with pytest.raises(ProgramError):
        EFFECTIVE_BANDWIDTH.parse(json.dumps(line(**changes)))
    with pytest.raises(UnverifiedError, match="other bytes"):
        EFFECTIVE_BANDWIDTH.parse(json.dumps(line(verified=False, error="other bytes")))


def test_the_summary_of_hpcc_is_read_in_base_units() -> None:
    found = read_challenge(SUMMARY)
    assert set(found) == set(CHALLENGE)
    assert found["ping_pong_latency_s"] == pytest.approx(0.395306e-6)
    assert found["random_ring_latency_s"] == pytest.approx(0.295041e-6)
    assert found["natural_ring_bandwidth_bps"] == pytest.approx(7.42235e9)


@given(
    st.lists(st.sampled_from([*SUMMARY.splitlines(), "AvgPingPongLatency_usec=-1", "x=1"])).map(
        "\n".join
    )
)
def test_an_incomplete_summary_gives_no_number(text: str) -> None:
    try:
        found = read_challenge(text)
    except ProgramError:
        return
    assert all(value > 0 for value in found.values())


def test_neighbouring_runs_are_compared_so_that_a_change_of_speed_does_not_count() -> None:
    speeds = [1.0, 1.3, 1.3, 1.0, 1.3, 1.0, 1.0, 1.3, 1.3, 1.0]
    near = judge("natural_ring_bandwidth_bps", [10 * s for s in speeds], [10.4 * s for s in speeds])
    assert near.holds
    assert near.ratio == pytest.approx(10 / 10.4)


def test_one_spoilt_pair_of_ten_does_not_count() -> None:
    ours = [10.0, 10.1, 9.9, 10.0, 1.0, 10.1, 9.9, 10.0, 10.1, 9.9]
    assert judge("natural_ring_bandwidth_bps", ours, [10.0] * 10).holds


def test_programs_more_than_five_percent_apart_miss() -> None:
    far = judge("natural_ring_latency_s", [1.0, 1.3, 1.0, 1.3], [1.1, 1.43, 1.1, 1.43])
    assert not far.holds
    assert far.ratio == pytest.approx(1 / 1.1)


def test_the_noise_is_that_of_runs_of_hpcc_next_to_each_other() -> None:
    # The first stands alone; then the second and third, the fourth and fifth follow each other.
    found = judge("natural_ring_latency_s", [1.0] * 5, [7.0, 1.0, 1.0, 3.0, 3.0])
    assert "hpcc's neighbouring runs are 0.0 % apart" in found.note


def test_one_run_apart_from_the_others_is_not_reproducible() -> None:
    assert judge_reproducible([100, 101, 104, 99, 100]).holds
    assert not judge_reproducible([100, 101, 106, 99, 100]).holds
