"""Test networks, methods and their figures, as commands and as texts."""

from __future__ import annotations

import shlex
import subprocess
from itertools import accumulate
from pathlib import PurePosixPath

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.aggregation import guests, measure, programs, traffic, tuning, wiring
from aferir.aggregation.programs import Received, Samples, Sent
from aferir.aggregation.traffic import (
    Outcome,
    Task,
    parse_bond,
    parse_links,
    read,
    script,
)
from aferir.errors import ProgramError, UnverifiedError, UsageError
from aferir.model.network import (
    METHODS,
    MODES,
    Bonding,
    Event,
    Method,
    Mptcp,
    Multipath,
    Network,
    Setting,
    Stream,
    Traffic,
    Tuning,
    method_by_name,
    name_of,
)

RATE = 100_000_000
BOND = """Ethernet Channel Bonding Driver: v6.1.0

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up

802.3ad info
Active Aggregator Info:
\tAggregator ID: 1
\tNumber of ports: 3

Slave Interface: eth0
MII Status: up

Slave Interface: eth1
MII Status: down
"""

networks = st.builds(
    Network,
    hosts=st.integers(2, 4),
    links=st.integers(1, 4),
    rate_bits=st.integers(1_000_000, 10**10),
    delay_s=st.sampled_from([0.0, 0.001]),
    containers=st.integers(0, 2),
)
methods = st.sampled_from(METHODS).map(method_by_name)


def commands(network: Network, method: Method) -> list[tuple[str, ...]]:
    return wiring.make(network, method, Tuning(), "t-")


@given(networks, methods)
def test_whatever_is_made_is_made_inside_namespaces_of_ours(
    network: Network, method: Method
) -> None:
    added = {c[3] for c in commands(network, method) if c[:3] == ("ip", "netns", "add")}
    for command in commands(network, method):
        if command[:3] == ("ip", "netns", "add"):
            continue
        if command[:3] == ("ip", "netns", "exec"):
            assert command[3] in added
        elif command[1] == "-n":
            assert command[2] in added
        else:
            assert command[:3] == ("ip", "link", "add")
            ends = [command[i + 1] for i, word in enumerate(command) if word == "netns"]
            assert len(ends) == 2
            assert set(ends) <= added


@given(networks, methods)
def test_every_link_is_shaped_at_both_ends(network: Network, method: Method) -> None:
    made = commands(network, method)
    shaped = [c for c in made if "tbf" in c]
    cables = [c for c in made if "peer" in c and not c[3].startswith("c")]
    assert len(shaped) == 2 * len(cables)
    assert all(f"{network.rate_bits}bit" in command for command in shaped)
    delayed = [command for command in made if "netem" in command]
    assert len(delayed) == (len(shaped) if network.delay_s else 0)


@given(methods)
def test_a_method_is_found_by_its_name(method: Method) -> None:
    assert method_by_name(name_of(method)) == method


@pytest.mark.parametrize("mode", MODES)
def test_a_switch_stands_between_where_a_mode_needs_one(mode: str) -> None:
    laid = wiring.wiring(Network(links=2, rate_bits=RATE), method_by_name(mode))
    assert laid == ("switch" if mode in ("balance-tlb", "balance-alb") else "direct")


def test_a_switch_has_a_partner_for_each_bond() -> None:
    network = Network(hosts=3, links=2, rate_bits=RATE)
    made = commands(network, method_by_name("802.3ad"))
    bonds = [c for c in made if "bond" in c and "add" in c]
    assert len(bonds) == 6
    assert sum(c[2] == "t-switch" for c in bonds) == 3
    assert all("lacp_rate" in command for command in bonds)


def test_options_reach_the_bond() -> None:
    options = wiring.bond_options(Bonding(mode="balance-rr", packets_per_slave=4))
    assert options[-2:] == ("packets_per_slave", "4")
    assert "xmit_hash_policy" not in options


def test_containers_hang_on_a_bridge_over_the_bond() -> None:
    network = Network(links=2, rate_bits=RATE, containers=2)
    made = commands(network, method_by_name("balance-rr"))
    assert ("ip", "-n", "t-host1", "link", "set", "bond0", "master", "br0") in made
    streams = wiring.streams(network, method_by_name("balance-rr"), Traffic(tenants=2))
    assert [(s.sender, s.receiver, s.addresses) for s in streams] == [
        ("host1c1", "host2c1", ("10.0.0.12",)),
        ("host1c2", "host2c2", ("10.0.0.22",)),
    ]


@pytest.mark.parametrize("name", ["single", "mptcp", "multipath", "multi-rail"])
def test_containers_have_an_interface_to_each_link_and_the_method_in_them(name: str) -> None:
    network = Network(links=2, rate_bits=RATE, containers=1)
    method = method_by_name(name)
    made = commands(network, method)
    assert ("ip", "-n", "t-host1", "link", "set", "eth1", "master", "br1") in made
    veth = ("ip", "link", "add", "c1x1", "netns", "t-host1", "type", "veth")
    assert (*veth, "peer", "name", "eth1", "netns", "t-host1c1") in made
    outside = [c[3:] for c in made if c[2] == "t-host1" and "10.0.0.1/24" in c]
    within = [c[3:] for c in made if c[2] == "t-host1c1" and "10.0.0.11/24" in c]
    assert [c[-1] for c in (*outside, *within)] == ["br0", "eth0"]
    stream = wiring.streams(network, method, Traffic())[0]
    assert stream.addresses[0] == ("10.1.0.12" if name == "multipath" else "10.0.0.12")


def test_subflows_are_limited_to_the_other_links_and_as_many_that_are_refused() -> None:
    made = commands(Network(links=3, rate_bits=RATE), Mptcp())
    endpoints = [c for c in made if "endpoint" in c]
    assert [c[c.index("dev") + 1] for c in endpoints] == ["eth1", "eth2"] * 2
    assert any(c[-4:] == ("subflow", "4", "add_addr_accepted", "2") for c in made)
    most = commands(Network(links=8, rate_bits=RATE), Mptcp())
    assert any(c[-4:] == ("subflow", "8", "add_addr_accepted", "7") for c in most)


def test_a_route_has_a_next_hop_over_each_link() -> None:
    made = commands(Network(links=3, rate_bits=RATE), Multipath())
    routes = [c for c in made if "route" in c]
    assert [c.count("nexthop") for c in routes] == [3, 3]


@given(networks, methods, st.integers(1, 3))
def test_streams_differ_in_their_ports(network: Network, method: Method, tenants: int) -> None:
    for pattern, pairs in (("pair", 1), ("fan-out", network.hosts - 1)):
        traffic = Traffic(pattern="pair" if pattern == "pair" else "fan-out", tenants=tenants)
        streams = wiring.streams(network, method, traffic)
        assert len({stream.port for stream in streams}) == len(streams) == pairs * tenants


def test_a_rail_is_used_by_connections_of_its_own() -> None:
    network = Network(links=3, rate_bits=RATE)
    stream = wiring.streams(network, method_by_name("multi-rail"), Traffic(connections=2))[0]
    assert stream.addresses == ("10.0.0.2", "10.0.1.2", "10.0.2.2")
    assert stream.connections == 6


def test_the_script_removes_what_it_made_and_cuts_the_link_in_time() -> None:
    task = Task(
        network=Network(links=2, rate_bits=RATE),
        method=Bonding(mode="active-backup"),
        traffic=Traffic(seconds=4),
        tuning=Tuning(settings=(Setting("net.ipv4.tcp_recovery", "5"),)),
        events=(Event(3.0, 0, up=True), Event(1.0, 0)),
    )
    text = script(task, "t-", PurePosixPath("/p/network-stream"), PurePosixPath("/run"))
    assert "ip netns del" in shlex.split(text.splitlines()[2])[1]
    assert (
        "( sleep 1.000; ip -n t-host2 link set eth0 down; "
        "sleep 2.000; ip -n t-host2 link set eth0 up ) &"
    ) in text
    assert text.count("echo '\"'\"'5'\"'\"' > /proc/sys/net/ipv4/tcp_recovery") == 2


def test_one_end_is_made_of_the_links_that_its_kernel_has() -> None:
    network = Network(links=2, rate_bits=RATE, containers=1)
    made = wiring.make_end(network, Bonding(mode="802.3ad"), Tuning(), "t-", 2)
    assert ("ip", "link", "set", "eth1", "netns", "t-host2") in made
    assert sum("tbf" in command for command in made) == 2
    words = {word for command in made for word in command}
    assert "t-host2c1" in words
    assert not any("host1" in word for word in words)


def test_a_pair_of_scripts_for_two_kernels_prints_what_one_does() -> None:
    where = (PurePosixPath("/p/network-stream"), PurePosixPath("/run"))
    task = msgspec.structs.replace(TASK, method=Bonding(mode="802.3ad"))
    parts = [
        traffic.receiving(task, "t-", *where),
        traffic.made_to_send(task, "t-", where[1]),
        traffic.sending(task, "t-", *where),
        traffic.received(task, "t-", where[1]),
    ]
    shown = [line for line in "\n".join(parts).splitlines() if line.startswith("echo '== ")]
    one = [line for line in script(task, "t-", *where).splitlines() if line.startswith("echo '== ")]
    assert sorted(shown) == sorted(one)
    for text in (*parts, traffic.left_for_next(task, "t-")):
        assert subprocess.run(["sh", "-n", "-c", text], check=False).returncode == 0


@pytest.mark.parametrize(
    "task",
    [
        Task(network=Network(hosts=3, rate_bits=RATE), method=method_by_name("mptcp")),
        Task(network=Network(rate_bits=RATE), method=Bonding(mode="balance-alb")),
        Task(network=Network(rate_bits=RATE), method=Mptcp(), traffic=Traffic(program="iperf3")),
        Task(network=Network(rate_bits=RATE), method=Mptcp(), traffic=Traffic(pattern="fan-in")),
    ],
)
def test_what_two_guests_cannot_do_is_refused(task: Task) -> None:
    with pytest.raises(UsageError):
        guests.check(task)


def test_what_a_bond_says_is_read() -> None:
    bond = parse_bond(BOND)
    assert (bond.mode, bond.up, bond.links_up, bond.ports) == ("802.3ad", True, 1, 3)


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    parse_bond(text)
    parse_links(text)


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
