"""Test networks and aggregation methods, as commands and as texts."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import PurePosixPath

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.aggregation import guests, traffic, wiring
from aferir.aggregation.traffic import (
    Task,
    parse_bond,
    parse_links,
    script,
)
from aferir.errors import UsageError
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
    Traffic,
    Tuning,
    method_by_name,
    name_of,
    one_after_another,
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
TASK = Task(network=Network(links=1, rate_bits=RATE), method=method_by_name("single"))

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


def test_links_are_cut_one_after_another() -> None:
    assert one_after_another(2, 1.0, 2.5) == (
        Event(1.0, 0),
        Event(2.5, 0, up=True),
        Event(4.0, 1),
        Event(5.5, 1, up=True),
    )


@given(st.integers(1, 8), st.floats(0, 10, allow_subnormal=False), st.floats(0.1, 10))
def test_no_two_links_are_cut_at_once(links: int, cut_s: float, for_s: float) -> None:
    events = one_after_another(links, cut_s, cut_s + for_s)
    assert list(events) == sorted(events, key=lambda event: event.at_s)
    assert [event.up for event in events] == [False, True] * links


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
