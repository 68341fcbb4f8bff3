from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.clock.delays import Single
from aferir.clock.exchange import Exchange, Index, StopRule, exchange


@dataclass
class Replay:
    """Gives out prepared delays, shape (2, messages, nodes), and counts how often it is asked."""

    delays: Single
    calls: int = 0
    given: Index = field(init=False)

    def __post_init__(self) -> None:
        self.given = np.zeros(self.delays.shape[2], dtype=np.int64)

    def __call__(self, nodes: Index, count: int) -> tuple[Single, Single]:
        self.calls += 1
        places = self.given[nodes] + np.arange(count)[:, None]
        self.given[nodes] += count
        forward, back = self.delays[:, places, nodes]
        return forward, back


def one_by_one(delays: Single, rule: StopRule) -> dict[str, float]:
    """The exchange of one node, shape (2, messages), as a client would run it."""
    forward, back = delays[:, rule.discard :]
    trips: list[float] = []
    for number in range(rule.messages - rule.discard):
        trips.append(float(forward[number] + back[number]))
        smallest = sorted(trips)[: rule.smallest]
        if len(smallest) == rule.smallest and statistics.stdev(smallest) < rule.deviation_s:
            break
    seen = len(trips)
    place = int(np.argmin(forward[:seen] + back[:seen]))
    return {
        "messages": seen + rule.discard,
        "place": place,
        "forward_s": float(forward[place]),
        "back_s": float(back[place]),
        "least_forward_s": float(forward[:seen].min()),
        "least_back_s": float(back[:seen].min()),
        "forward_place": int(forward[:seen].argmin()),
        "back_place": int(back[:seen].argmin()),
        "deviation_s": statistics.stdev(sorted(trips)[: rule.smallest]),
        "sum_s": float(delays[:, : seen + rule.discard].sum(dtype=np.float64)),
    }


def drawn(seed: int, messages: int, nodes: int, scale: float = 1e-6) -> Single:
    rng = np.random.default_rng(seed)
    return (scale * rng.lognormal(0, 0.8, (2, messages, nodes))).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6), st.integers(2, 20), st.floats(0.1, 2.0))
def test_every_node_stops_and_keeps_its_result_as_if_it_were_alone(
    seed: int, discard: int, smallest: int, scale: float
) -> None:
    rule = StopRule(discard=discard, smallest=smallest, messages=60)
    delays = drawn(seed, rule.messages, 30, scale * 1e-6)
    found = exchange(Replay(delays), 30, rule)
    for node in range(30):
        for name, value in one_by_one(delays[:, :, node], rule).items():
            assert getattr(found, name)[node] == pytest.approx(value, rel=1e-5), (name, node)


def test_the_published_rule_is_the_default() -> None:
    rule = StopRule()
    assert (rule.discard, rule.smallest, rule.deviation_s, rule.messages) == (5, 20, 500e-9, 10_000)


def test_a_quiet_path_needs_no_more_than_the_rule_asks_for() -> None:
    rule = StopRule()
    found = exchange(Replay(np.zeros((2, 25, 3), dtype=np.float32)), 3, rule)
    assert found.messages.tolist() == [25, 25, 25]
    assert found.deviation_s.tolist() == [0, 0, 0]


def test_a_noisy_path_ends_at_the_bound_of_messages() -> None:
    rule = StopRule(messages=200)
    replay = Replay(drawn(1, 200, 4, scale=1.0))
    found = exchange(replay, 4, rule)
    assert found.messages.tolist() == [200] * 4
    assert np.all(found.deviation_s > rule.deviation_s)


def test_delays_are_drawn_for_all_waiting_nodes_at_once() -> None:
    """The number of draws depends on the longest exchange, not on the number of nodes."""
    rule = StopRule(messages=300)
    replay = Replay(drawn(2, 300, 5000))
    found = exchange(replay, 5000, rule)
    assert found.messages.max() < 300
    assert replay.calls == 2 + found.messages.max() - 25
    assert np.array_equal(replay.given, found.messages)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(25, 60), st.integers(0, 60))
def test_more_messages_never_widen_what_is_kept(seed: int, few: int, more: int) -> None:
    delays = drawn(seed, few + more, 20)

    def kept(messages: int) -> Exchange:
        return exchange(Replay(delays), 20, StopRule(messages=messages, deviation_s=0.0))

    short, long = kept(few), kept(few + more)
    # Sums of two directions are compared in single precision, so a tie may go either way.
    trips = [found.forward_s + found.back_s for found in (short, long)]
    assert np.all(trips[1] <= trips[0] * (1 + 1e-6))
    assert np.all(long.least_forward_s <= short.least_forward_s)
    assert np.all(long.least_back_s <= short.least_back_s)
    assert np.all(long.least_forward_s <= long.forward_s)
    assert np.all(long.least_back_s <= long.back_s)


@pytest.mark.parametrize("wrong", [{"smallest": 1}, {"discard": -1}, {"messages": 24}])
def test_a_rule_that_cannot_be_met_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"two round trips|room for"):
        StopRule(**wrong)
