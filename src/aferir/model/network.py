"""Values that describe networks, methods of aggregation and traffic."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["namespaces", "guest", "guests"]
"""How the test network's hosts are made: as namespaces of this kernel, as namespaces inside one
emulated guest, or each as a guest of its own.
"""
Mode = Literal[
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
]
MODES: tuple[Mode, ...] = (
    *("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad"),
    *("balance-tlb", "balance-alb"),
)
"""Bonding modes in the order of their numbers, 0 to 6 (Documentation/networking/bonding.rst)."""
HashPolicy = Literal["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"]
LacpRate = Literal["slow", "fast"]
Program = Literal["network-stream", "iperf3", "mpi"]
Pattern = Literal["pair", "fan-out", "fan-in"]

MOST_HOSTS = 8
MOST_LINKS = 8
MOST_CONTAINERS = 8


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts that are each connected to all others by the same number of links of equal rate."""

    hosts: int = 2
    links: int = 1
    rate_bits: int
    """Rate of each link in each direction, in bit/s, Ethernet headers included."""
    delay_s: float = 0.0
    """One-way delay of each link in s; requires a kernel with netem."""
    containers: int = 0
    """Number of containers on each host, behind a bridge over the bond or over each link."""
    mtu: int = 1500


class Single(msgspec.Struct, frozen=True, tag="single"):
    """Uses the first link alone: the baseline of the other methods."""


class Bonding(msgspec.Struct, frozen=True, kw_only=True, tag="bonding"):
    """Uses the kernel's bonding driver (Documentation/networking/bonding.rst)."""

    mode: Mode
    miimon_ms: int = 100
    """Period in ms with which the state of links is polled."""
    packets_per_slave: int = 1
    """balance-rr: number of packets sent on a link before the next one; 0: a random link for each
    packet.
    """
    xmit_hash_policy: HashPolicy = "layer3+4"
    """balance-xor, 802.3ad and balance-tlb: packet fields that are hashed to choose the link."""
    lacp_rate: LacpRate = "fast"
    """802.3ad: the partner sends an LACPDU every 1 s (`fast`) or every 30 s (`slow`)."""


class Mptcp(msgspec.Struct, frozen=True, kw_only=True, tag="mptcp"):
    """Splits a connection into one subflow a link (RFC 8684)."""

    scheduler: str = "default"


class Multipath(msgspec.Struct, frozen=True, kw_only=True, tag="multipath"):
    """Uses equal-cost routes, chosen for each connection by a hash of addresses and ports."""

    hash_policy: int = 1
    """Value of fib_multipath_hash_policy: 1 hashes ports too
    (Documentation/networking/ip-sysctl.rst).
    """


class MultiRail(msgspec.Struct, frozen=True, tag="multi-rail"):
    """The program itself uses one address a link, as Open MPI does with btl_tcp_if_include."""


Method = Single | Bonding | Mptcp | Multipath | MultiRail


class Setting(msgspec.Struct, frozen=True):
    """One kernel parameter of a network namespace, by its sysctl(8) name."""

    name: str
    value: str


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """Settings beyond the options of a method, applied on every host."""

    settings: tuple[Setting, ...] = ()
    offloads: bool = False
    """True if links send and receive segments larger than a packet (TSO, GSO, GRO)."""
    bond_offloads: bool = True
    """True if the bond accepts segments larger than a packet; it sends each whole on one link."""
    queue_s: float = 0.02
    """Longest time in s that a packet waits in the queue of a link before it is dropped."""


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Streams that transfer a known number of bytes."""

    pattern: Pattern = "pair"
    """`pair`: host1 to host2; `fan-out`: host1 to all others; `fan-in`: all others to host1."""
    connections: int = 1
    """Number of connections of each tenant between each pair of hosts."""
    tenants: int = 1
    """Number of program pairs at the same time, each in its own container if there are enough."""
    seconds: float = 3.0
    interval_s: float = 0.1
    program: Program = "network-stream"
    """`iperf3` represents programs that do not use MPTCP themselves; mptcpize(8) starts it then.
    `mpi`: two ranks of Open MPI, one on each host, that send messages of 1 MiB.
    """


class Event(msgspec.Struct, frozen=True):
    """A link is cut or restored `at_s` seconds after the traffic began."""

    at_s: float
    link: int
    up: bool = False


def one_after_another(links: int, cut_s: float, restored_s: float) -> tuple[Event, ...]:
    """Cut and restore each link in turn, each for the same time and at equal intervals.

    Often a random link carries a connection; as all are cut, it is cut too.
    """
    step_s = 2 * (restored_s - cut_s)
    return tuple(
        Event(at_s + link * step_s, link, up)
        for link in range(links)
        for at_s, up in ((cut_s, False), (restored_s, True))
    )


class Stream(msgspec.Struct, frozen=True):
    """One sending program and one receiving program."""

    sender: str
    """Name of a host or container."""
    receiver: str
    addresses: tuple[str, ...]
    """Addresses of the receiver, which the connections use in turn."""
    port: int
    connections: int


METHODS: tuple[str, ...] = ("single", *MODES, "mptcp", "multipath", "multi-rail")
"""Names of the methods on command lines and in experiment files."""


def method_by_name(name: str) -> Method:
    """The method called `name`, with its default options. Errors: KeyError."""
    if name in MODES:
        return Bonding(mode=next(mode for mode in MODES if mode == name))
    others: dict[str, Method] = {
        "single": Single(),
        "mptcp": Mptcp(),
        "multipath": Multipath(),
        "multi-rail": MultiRail(),
    }
    return others[name]


def name_of(method: Method) -> str:
    """Name of a method: the inverse of `method_by_name`."""
    if isinstance(method, Bonding):
        return method.mode
    return str(method.__struct_config__.tag)
