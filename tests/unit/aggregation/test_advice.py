"""Advice on a method, and the commands that apply and undo one on a host in use."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.aggregation.applying import Interface, Route, State, Wish, steps
from aferir.aggregation.planner import Situation, advise
from aferir.errors import UsageError
from aferir.model.network import Bonding, Mptcp, Multipath, Single, Tuning, name_of

GIGABIT = 1_000_000_000
BASE = Situation(rates_bits=(GIGABIT,) * 3)
STATE = State(
    interfaces=msgspec.json.decode(
        """[{"ifname":"lo","flags":["UP"]},
        {"ifname":"eth0","flags":["UP"],"addr_info":[
          {"family":"inet","local":"10.0.0.1","prefixlen":24,"scope":"global"},
          {"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link"}]},
        {"ifname":"eth1","flags":["UP"],"addr_info":[
          {"family":"inet","local":"10.0.1.1","prefixlen":24,"scope":"global"}]},
        {"ifname":"eth2","flags":[],"master":"br7"}]""",
        type=tuple[Interface, ...],
    ),
    routes=msgspec.json.decode(
        """[{"dst":"default","gateway":"10.0.0.254","dev":"eth0"},
        {"dst":"10.0.0.0/24","dev":"eth0","protocol":"kernel","prefsrc":"10.0.0.1"},
        {"dst":"10.9.0.0/16","gateway":"10.0.1.254","dev":"eth1","metric":5}]""",
        type=tuple[Route, ...],
    ),
)


@pytest.mark.parametrize(
    ("change", "method"),
    [
        ({"rates_bits": (GIGABIT,)}, "single"),
        ({"connections": "one"}, "mptcp"),
        ({"connections": "one", "rates_bits": (GIGABIT, GIGABIT // 10)}, "mptcp"),
        ({"connections": "one", "switch": "static", "static_programs": True}, "balance-rr"),
        ({"connections": "one", "switch": "none", "bridge": True}, "balance-rr"),
        ({"connections": "one", "switch": "lacp", "both_ends": False}, "802.3ad"),
        ({"switch": "lacp"}, "802.3ad"),
        ({"switch": "lacp", "rates_bits": (GIGABIT, GIGABIT // 10)}, "multipath"),
        ({"switch": "static"}, "balance-xor"),
        ({"switch": "plain"}, "multipath"),
        ({"switch": "plain", "both_ends": False}, "balance-alb"),
        ({"switch": "plain", "bridge": True}, "balance-tlb"),
        ({"mpi": True}, "multi-rail"),
        ({"mpi": True, "bridge": True, "switch": "lacp"}, "802.3ad"),
        ({"want": "availability"}, "active-backup"),
        ({"want": "availability", "switch": "lacp"}, "802.3ad"),
    ],
)
def test_the_method_follows_the_network_and_its_traffic(
    change: dict[str, object], method: str
) -> None:
    advice = advise(msgspec.structs.replace(BASE, **change))
    assert name_of(advice.method) == method
    assert advice.why


situations = st.builds(
    Situation,
    rates_bits=st.lists(st.sampled_from([10**8, 10**9]), min_size=1, max_size=4).map(tuple),
    switch=st.sampled_from(["none", "plain", "static", "lacp"]),
    connections=st.sampled_from(["one", "many"]),
    peers=st.sampled_from(["one", "many"]),
    both_ends=st.booleans(),
    subnets=st.booleans(),
    static_programs=st.booleans(),
    mpi=st.booleans(),
    bridge=st.booleans(),
    want=st.sampled_from(["throughput", "availability"]),
)


@given(situations)
def test_no_advice_asks_for_what_is_not_there(situation: Situation) -> None:
    advice = advise(situation)
    name = name_of(advice.method)
    links = len(situation.rates_bits)
    assert 1 <= advice.connection_links <= advice.total_links <= links
    if links == 1:
        assert advice.method == Single()
    if name in ("mptcp", "multipath", "multi-rail"):
        assert situation.both_ends
        assert situation.subnets
        assert not situation.bridge
    if name in ("balance-rr", "balance-xor", "802.3ad"):
        assert len(set(situation.rates_bits)) == 1
        assert situation.switch != "plain"
    if name == "balance-alb":
        assert not situation.bridge


def test_a_bond_takes_over_the_address_and_the_routes_of_its_first_link() -> None:
    wish = Wish(method=Bonding(mode="802.3ad"), interfaces=("eth0", "eth1"))
    planned = steps(wish, STATE)
    do = [" ".join(command) for command in planned.do]
    assert do[0].startswith("ip link add bond0 type bond mode 802.3ad")
    assert "ip address replace 10.0.0.1/24 dev bond0" in do
    assert "ip route replace default via 10.0.0.254 dev bond0" in do
    assert do.index("ip link set eth1 down") < do.index("ip link set eth1 master bond0")
    assert not any("fe80" in command or "10.9.0.0" in command for command in do)


def test_undoing_gives_every_link_what_it_had() -> None:
    wish = Wish(method=Bonding(mode="balance-rr"), interfaces=("eth0", "eth1"), bridge="br0")
    undo = [" ".join(command) for command in steps(wish, STATE, "ns").undo]
    assert undo[:2] == ["ip -n ns link delete br0", "ip -n ns link delete bond0"]
    assert "ip -n ns address replace 10.0.0.1/24 dev eth0" in undo
    assert "ip -n ns address replace 10.0.1.1/24 dev eth1" in undo
    assert "ip -n ns route replace 10.9.0.0/16 via 10.0.1.254 dev eth1 metric 5" in undo
    routed = [i for i, command in enumerate(undo) if " route " in command]
    assert min(routed) > max(i for i, command in enumerate(undo) if " address " in command)


def test_kernel_parameters_get_their_old_values_back() -> None:
    state = msgspec.structs.replace(STATE, settings={"net.mptcp.enabled": "0"})
    planned = steps(Wish(method=Mptcp(), interfaces=("eth0", "eth1")), state)
    assert planned.do[0][-1] == "echo '1' > /proc/sys/net/mptcp/enabled"
    assert planned.undo[-1][-1] == "echo '0' > /proc/sys/net/mptcp/enabled"


def test_a_route_over_all_links_takes_a_next_hop_for_each() -> None:
    wish = Wish(
        method=Multipath(),
        interfaces=("eth0", "eth1"),
        destination="10.1.0.2",
        gateways=("10.0.0.2", "10.0.1.2"),
    )
    planned = steps(wish, STATE)
    assert planned.do[-1][-5:] == ("nexthop", "via", "10.0.1.2", "dev", "eth1")
    with pytest.raises(UsageError, match="next hop"):
        steps(msgspec.structs.replace(wish, gateways=("10.0.0.2",)), STATE)


@pytest.mark.parametrize(
    ("interfaces", "words"),
    [(("eth0",), "nothing to aggregate"), (("eth0", "eth9"), "eth9"), (("eth0", "eth2"), "br7")],
)
def test_links_that_cannot_be_aggregated_are_refused(
    interfaces: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        steps(Wish(method=Bonding(mode="balance-rr"), interfaces=interfaces), STATE)


def test_advice_for_round_robin_tells_tcp_to_bear_reordering() -> None:
    advice = advise(
        msgspec.structs.replace(BASE, connections="one", switch="none", static_programs=True)
    )
    assert advice.tuning != Tuning()
