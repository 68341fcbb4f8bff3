"""Networks, methods of aggregation and traffic as values."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["namespaces", "guest", "guests"]
"""Hosts as namespaces of this kernel, of the kernel of one emulated guest, or as a guest each."""
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
"""Modes in the order of their numbers, 0 to 6 (Documentation/networking/bonding.rst)."""
HashPolicy = Literal["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"]
LacpRate = Literal["slow", "fast"]
Program = Literal["network-stream", "iperf3", "mpi"]
Pattern = Literal["pair", "fan-out", "fan-in"]

MOST_HOSTS = 8
MOST_LINKS = 8
MOST_CONTAINERS = 8


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, each with the same number of links of the same rate to all others."""

    hosts: int = 2
    links: int = 1
    rate_bits: int
    """Bits a second that each link carries each way, headers of Ethernet included."""
    delay_s: float = 0.0
    """One way, on each link; takes a kernel with netem."""
    containers: int = 0
    """On each host, behind a bridge over its bond, or over each of its links."""
    mtu: int = 1500


class Single(msgspec.Struct, frozen=True, tag="single"):
    """The first link alone: what the others are compared with."""


class Bonding(msgspec.Struct, frozen=True, kw_only=True, tag="bonding"):
    """The kernel's bonding driver (Documentation/networking/bonding.rst)."""

    mode: Mode
    miimon_ms: int = 100
    """How often links are looked at."""
    packets_per_slave: int = 1
    """balance-rr: packets before it is the next link's turn; 0: one drawn at random."""
    xmit_hash_policy: HashPolicy = "layer3+4"
    """balance-xor, 802.3ad and balance-tlb: what of a packet chooses its link."""
    lacp_rate: LacpRate = "fast"
    """802.3ad: the partner sends a packet each second, or every 30."""


class Mptcp(msgspec.Struct, frozen=True, kw_only=True, tag="mptcp"):
    """One connection as several subflows, one a link (RFC 8684)."""

    scheduler: str = "default"


class Multipath(msgspec.Struct, frozen=True, kw_only=True, tag="multipath"):
    """Equal-cost routes; a hash of addresses and ports chooses one for each connection."""

    hash_policy: int = 1
    """fib_multipath_hash_policy: 1 hashes ports too (Documentation/networking/ip-sysctl.rst)."""


class MultiRail(msgspec.Struct, frozen=True, tag="multi-rail"):
    """The program itself uses one address a link, as Open MPI's btl_tcp_if_include makes it."""


Method = Single | Bonding | Mptcp | Multipath | MultiRail


class Setting(msgspec.Struct, frozen=True):
    """One kernel parameter of a network namespace, by its sysctl(8) name."""

    name: str
    value: str


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """What is set beyond a method's own options, on every host."""

    settings: tuple[Setting, ...] = ()
    offloads: bool = False
    """Whether links take and give segments larger than a packet (TSO, GSO, GRO)."""
    bond_offloads: bool = True
    """Whether a bond takes such segments: it deals out what it is given, each to one link."""
    queue_s: float = 0.02
    """How long a packet may wait in the queue of a link before it is dropped."""


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Streams of known bytes."""

    pattern: Pattern = "pair"
    """host1 to host2; host1 to all others; all others to host1."""
    connections: int = 1
    """Connections of each tenant and pair of hosts."""
    tenants: int = 1
    """Pairs of programs at once; in containers of their own where there are enough."""
    seconds: float = 3.0
    interval_s: float = 0.1
    program: Program = "network-stream"
    """iperf3 stands for a program that knows nothing of MPTCP: mptcpize(8) starts it then.
    mpi: two ranks of Open MPI, one on each host, that send messages of 1 MiB."""


class Event(msgspec.Struct, frozen=True):
    """A link that is cut, or works again, so many seconds after the traffic began."""

    at_s: float
    link: int
    up: bool = False


def one_after_another(links: int, cut_s: float, restored_s: float) -> tuple[Event, ...]:
    """The first link cut and restored then, and the others after it, as long and as far apart.

    Which link a method has a connection take is often chance; so the one it takes is among them.
    """
    step_s = 2 * (restored_s - cut_s)
    return tuple(
        Event(at_s + link * step_s, link, up)
        for link in range(links)
        for at_s, up in ((cut_s, False), (restored_s, True))
    )


class Stream(msgspec.Struct, frozen=True):
    """One sending and one receiving program."""

    sender: str
    """Name of a host or container."""
    receiver: str
    addresses: tuple[str, ...]
    """Connections take them in turn."""
    port: int
    connections: int


METHODS: tuple[str, ...] = ("single", *MODES, "mptcp", "multipath", "multi-rail")
"""Names by which methods are chosen on a command line and in an experiment file."""


def method_by_name(name: str) -> Method:
    """The method with its usual options. Errors: KeyError."""
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
    """The other way round."""
    if isinstance(method, Bonding):
        return method.mode
    return str(method.__struct_config__.tag)
