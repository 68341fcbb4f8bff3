"""Figures of aggregated links from the output of both ends, and the search for settings."""

from __future__ import annotations

from itertools import accumulate

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.aggregation import measure, programs, tuning
from aferir.aggregation.program import AGGREGATION
from aferir.aggregation.programs import Received, Samples, Sent
from aferir.aggregation.traffic import (
    Outcome,
    Task,
    read,
)
from aferir.errors import ProgramError, UnverifiedError
from aferir.model.network import (
    Event,
    Network,
    Stream,
    Traffic,
    method_by_name,
)
from aferir.model.record import Series

RATE = 100_000_000

SAMPLES = Samples((0.1, 0.3), (1000, 4000), ("eth0",), ((0, 0),), ((1100, 4400),))
SENT = Sent(
    verified=True,
    duration_s=0.5,
    bytes=5000,
    traffic=SAMPLES,
    counters={"TcpRetransSegs": 7, "TcpExtTCPDSACKRecv": 5, "TcpOutSegs": 100},
)
RECEIVED = Received(verified=True, duration_s=0.5, bytes=5000, gap_s=0.2, traffic=SAMPLES)
TASK = Task(network=Network(links=1, rate_bits=RATE), method=method_by_name("single"))


def printed(sent: Sent, received: Received) -> str:
    parts = [
        ("links-before", "eth0: 10 0 0 0 0 0 0 0 20 0\n"),
        ("links-after", "eth0: 110 0 0 0 0 0 0 0 5020 0\n"),
        ("send", msgspec.json.encode(sent).decode()),
        ("receive", msgspec.json.encode(received).decode()),
        ("queues", '[{"kind":"tbf","drops":3},{"kind":"noqueue","drops":9}]'),
    ]
    return "".join(f"== {name}\n{text}\n" for name, text in parts)


def test_figures_come_from_both_ends() -> None:
    found = measure.result(TASK, read(printed(SENT, RECEIVED), TASK), "namespaces")
    assert found.throughput_bps == 10_000
    assert found.link_bytes == {"eth0": 5100}
    assert (found.retransmitted_segments, found.spurious_segments) == (7, 5)
    assert found.lost_bytes == 2 * 1448
    assert found.dropped_packets == 3
    assert found.gap_s == 0.2
    assert found.link_curves[0].at_s == found.streams[0].at_s == (0.0, 0.1, 0.2)
    assert found.link_curves[0].bps == pytest.approx((11_000, 22_000, 22_000))
    assert found.streams[0].bps == pytest.approx((10_000, 20_000, 20_000))


def test_copies_that_the_network_makes_are_no_spurious_retransmissions() -> None:
    sent = msgspec.structs.replace(SENT, counters={"TcpRetransSegs": 1, "TcpExtTCPDSACKRecv": 99})
    found = measure.result(TASK, read(printed(sent, RECEIVED), TASK), "namespaces")
    assert (found.spurious_segments, found.lost_bytes) == (1, 0)


def test_what_happened_to_links_is_told_with_the_curves() -> None:
    events = (Event(2.0, 0), Event(4.0, 0, up=True))
    task = msgspec.structs.replace(TASK, events=events)
    found = measure.result(task, read(printed(SENT, RECEIVED), task), "namespaces")
    assert found.moments == {"eth0 is cut": 2.0, "eth0 works again": 4.0}
    (cut, *_) = (
        one
        for one in AGGREGATION.parse(msgspec.json.encode(found).decode())
        if isinstance(one, Series) and one.metric == "stream_throughput_bps"
    )
    assert cut.moments == found.moments


@given(st.lists(st.tuples(st.floats(0.1, 0.5), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_a_curve_holds_the_bytes_that_were_sampled(intervals: list[tuple[float, int]]) -> None:
    at_s = tuple(accumulate(length for length, _ in intervals))
    counts = tuple(count for _, count in intervals)
    samples = Samples(at_s, counts, (), (), ())
    curve = measure._curve("one", samples, counts, 0.1)
    carried = sum(curve.bps) * 0.1
    assert len(curve.at_s) == len(set(curve.at_s)) >= 1
    assert carried <= sum(counts) + 1e-3
    assert carried >= sum(counts) - max(counts)  # the last interval is left out unless it is whole


def test_a_receiver_that_waited_has_its_curve_start_with_the_traffic() -> None:
    waiting = Samples((0.1, 0.2, 0.3, 0.4), (0, 0, 500, 700), (), (), ())
    received = msgspec.structs.replace(RECEIVED, traffic=waiting)
    found = measure.result(TASK, read(printed(SENT, received), TASK), "namespaces")
    assert found.streams[0].at_s == (0.0, 0.1)
    assert found.streams[0].bps == pytest.approx((5000, 7000))


def test_bytes_that_did_not_arrive_give_no_figure() -> None:
    with pytest.raises(UnverifiedError):
        read(printed(SENT, msgspec.structs.replace(RECEIVED, verified=False)), TASK)
    with pytest.raises(ProgramError, match="no connection"):
        read(printed(Sent(verified=False, error="no connection"), RECEIVED), TASK)
    with pytest.raises(ProgramError, match="printed 0 results"):
        read("", TASK)


def test_hosts_count_once_for_all_their_programs() -> None:
    stream = Stream("host1", "host2", ("10.0.0.2",), 5201, 1)
    outcome = Outcome(
        streams=(stream, stream),
        sent=(SENT, SENT),
        received=(RECEIVED, RECEIVED),
        link_sent={"eth0": 1},
        link_received={"eth0": 2},
        dropped=0,
        bond=None,
    )
    found = measure.result(TASK, outcome, "namespaces")
    assert found.retransmitted_segments == 7
    assert found.throughput_bps == 20_000
    assert found.fairness == 1


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=8))
def test_fairness_lies_between_one_share_and_one(rates: list[int]) -> None:
    assert 1 / len(rates) - 1e-9 <= measure.fairness(rates) <= 1 + 1e-9


def test_one_that_gets_all_is_as_unfair_as_can_be() -> None:
    assert measure.fairness([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)


def figures(throughput: float, retransmitted: int) -> measure.Result:
    found = measure.result(TASK, read(printed(SENT, RECEIVED), TASK), "namespaces")
    return msgspec.structs.replace(
        found,
        throughput_bps=throughput,
        sent_segments=1000,
        retransmitted_segments=retransmitted,
    )


def test_the_search_puts_together_what_helps_and_keeps_the_throughput() -> None:
    def run(candidate: tuning.Candidate) -> measure.Result:
        throughput, retransmitted = 100.0, 80
        for part in candidate.name.split(", "):
            if part == "tcp_reordering=127":
                retransmitted -= 30
            elif part == "segmentation off on the bond":
                retransmitted -= 45
            elif part == "packets_per_slave=4":
                throughput, retransmitted = 50.0, 0  # few are sent again, for few are sent
        return figures(throughput, retransmitted)

    names: list[str] = []
    gain = tuning.search(run, names.append)
    assert names[0] == "as it is"
    assert set(gain.after.candidate.name.split(", ")) == {
        "segmentation off on the bond",
        "tcp_reordering=127",
    }
    assert not gain.after.candidate.tuning.bond_offloads
    assert gain.retransmissions == pytest.approx(5 / 80)
    assert gain.throughput == 1


def test_a_search_that_finds_nothing_leaves_all_as_it_is() -> None:
    gain = tuning.search(lambda _: figures(100.0, 80), lambda _: None)
    assert gain.after is gain.before
    assert gain.retransmissions == 1


def test_another_program_tells_what_it_carried() -> None:
    traffic = Traffic(program="iperf3", connections=16)
    by = programs.commands(traffic, "/k/network-stream", mptcp=True)
    stream = Stream("host1", "host2", ("10.0.0.2",), 5201, 16)
    assert by.send(stream).startswith("mptcpize run iperf3 --client 10.0.0.2 --port 5201")
    assert "--parallel 16" in by.send(stream)
    text = """{"end":{"sum_sent":{"seconds":2.0,"bytes":500,"retransmits":3},
              "sum_received":{"seconds":2.5,"bytes":400}}}"""
    sent, received = by.ends(text, "")
    assert (sent.bytes, sent.counters["TcpRetransSegs"]) == (500, 3)
    assert (received.bytes, received.duration_s) == (400, 2.5)
    failed, _ = by.ends('{"error":"unable to connect"}', "")
    assert not failed.verified


def test_mpi_is_told_the_subnet_of_each_link() -> None:
    by = programs.commands(Traffic(program="mpi"), "/k/network-stream", mptcp=False)
    stream = Stream("host1", "host2", ("10.0.0.2", "10.0.1.2"), 5201, 2)
    assert "btl_tcp_if_include 10.0.0.0/24,10.0.1.0/24" in by.send(stream)
    assert "/k/net-sweep-mpi-openmpi" in by.send(stream)
    agent = by.prepare("t-")[0]
    assert "ip netns exec t-$h unshare --uts" in agent
    text = """{"verified":true,"sizes":[{"message_bytes":100,"rounds":20,"throughput_bps":500}]}"""
    sent, received = by.ends(text, "")
    assert (sent.bytes, sent.duration_s) == (2000, 4.0)
    assert received.bytes == 2000
    nothing, _ = by.ends("", "")
    assert nothing.error
