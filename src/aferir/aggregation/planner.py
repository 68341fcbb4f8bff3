"""Advises which aggregation method fits a network and its traffic, and why; pure functions.

Sources: Documentation/networking/bonding.rst (chapters 11 to 13), RFC 8684, IEEE 802.1AX, and
measurements by `python -m benchmarks network` (docs/concepts/aggregation.md).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.aggregation.tuning import ROUND_ROBIN
from aferir.model.network import Bonding, Method, Mptcp, Multipath, MultiRail, Single, Tuning

SwitchKind = Literal["none", "plain", "static", "lacp"]
"""Switch between the hosts. none: cables from host to host; plain: a switch without link groups;
static: with static ones; lacp: with groups by LACP.
"""
Want = Literal["throughput", "availability"]


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of the network, and the requirements that a method must meet."""

    rates_bits: tuple[int, ...]
    """Rate of each link in bit/s; at least one link."""
    switch: SwitchKind = "plain"
    connections: Literal["one", "many"] = "many"
    """Whether one connection must exceed the rate of one link, or many share the links."""
    peers: Literal["one", "many"] = "one"
    """Whether there is one host at the other end of the links, or several."""
    both_ends: bool = True
    """Whether the other hosts can be configured too."""
    subnets: bool = True
    """Whether each link can have a subnet of its own."""
    static_programs: bool = False
    """Whether a program is linked statically and cannot be changed, so that mptcpize(8) has no
    effect."""
    mpi: bool = False
    """Whether all traffic is that of Open MPI."""
    bridge: bool = False
    """Whether containers or guests are attached by a bridge over the links."""
    want: Want = "throughput"


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A method, its settings, and verifiable reasons."""

    method: Method
    tuning: Tuning = Tuning()
    why: tuple[str, ...]
    beware: tuple[str, ...] = ()
    connection_links: int
    """Number of links that one connection can use."""
    total_links: int
    """Number of links that all traffic together can use, at best."""


def advise(situation: Situation) -> Advice:
    """The method to choose, with reasons and caveats as full sentences."""
    links = len(situation.rates_bits)
    if links == 1:
        return Advice(
            method=Single(),
            why=("There is one link, and nothing to aggregate.",),
            connection_links=1,
            total_links=1,
        )
    if situation.want == "availability":
        return _available(situation)
    if situation.mpi and situation.both_ends and situation.subnets and not situation.bridge:
        return _rails(links)
    if situation.connections == "one":
        return _for_one(situation)
    return _for_many(situation)


def _equal(situation: Situation) -> bool:
    return len(set(situation.rates_bits)) == 1


def _available(situation: Situation) -> Advice:
    links = len(situation.rates_bits)
    if situation.switch == "lacp" and _equal(situation):
        return Advice(
            method=Bonding(mode="802.3ad"),
            why=(
                "A link that fails leaves the group, which LACP tells both ends.",
                "Until then all links carry traffic, unlike under active-backup.",
            ),
            connection_links=1,
            total_links=links,
        )
    return Advice(
        method=Bonding(mode="active-backup"),
        why=(
            "One link works and another takes over: no switch has to know of it.",
            "It is the mode with the least that can go wrong; rates may differ.",
        ),
        beware=(
            "miimon looks at the carrier alone; behind a switch that stays up, use arp_ip_target.",
            *(
                ("Both hosts have to prefer the same link: name it as `primary`.",)
                if situation.switch == "none"
                else ()
            ),
        ),
        connection_links=1,
        total_links=1,
    )


def _rails(links: int) -> Advice:
    return Advice(
        method=MultiRail(),
        why=(
            "Open MPI splits large messages over all subnets of btl_tcp_if_include, in order.",
            "Nothing has to be reordered by TCP, as it would under balance-rr.",
        ),
        beware=(
            "Programs of many small messages gain nothing, or lose: measure with 1, 2, … links.",
        ),
        connection_links=links,
        total_links=links,
    )


def _mptcp_possible(situation: Situation) -> bool:
    ours = situation.both_ends and situation.subnets
    return ours and not situation.static_programs and not situation.bridge


def _for_one(situation: Situation) -> Advice:
    links = len(situation.rates_bits)
    if _mptcp_possible(situation):
        return Advice(
            method=Mptcp(),
            why=(
                "One connection becomes a subflow a link, each in order within itself.",
                "Links may differ in rate; one that fails is left to the others.",
                "Programs need no change: `mptcpize run PROGRAM` makes their sockets MPTCP.",
            ),
            beware=("Both ends take Linux 5.6 or newer, best 6.1.",),
            connection_links=links,
            total_links=links,
        )
    grouped = situation.switch in ("none", "static")
    if grouped and _equal(situation) and situation.both_ends:
        return Advice(
            method=Bonding(mode="balance-rr"),
            tuning=ROUND_ROBIN,
            why=(
                "It is the only mode in which one connection uses several links.",
                "Packets overtake each other less when segmentation is off on the bond itself.",
            ),
            beware=(
                "A switch that hashes puts one connection back onto one link on its way out.",
                "One slow link slows all: rates have to be equal.",
            ),
            connection_links=links,
            total_links=links,
        )
    why_not = "nothing here lets one connection use more than one link"
    general = _for_many(situation)
    return msgspec.structs.replace(
        general, beware=(*general.beware, f"One connection stays at one link's rate: {why_not}.")
    )


def _for_many(situation: Situation) -> Advice:
    links = len(situation.rates_bits)
    hashed = (
        "Connections of one pair of hosts spread by addresses and ports (layer3+4).",
        "Each stays on one link, so that nothing is reordered.",
    )
    uneven = "A hash deals out connections, not bytes: few of them may share a link by chance."
    partner = situation.switch == "lacp" or (situation.switch == "none" and situation.both_ends)
    if partner and _equal(situation):
        return Advice(
            method=Bonding(mode="802.3ad"),
            why=(
                *hashed,
                "LACP keeps a link that is wired or configured wrongly out of the group.",
            ),
            beware=(uneven,),
            connection_links=1,
            total_links=links,
        )
    if situation.switch == "static" and _equal(situation):
        return Advice(
            method=Bonding(mode="balance-xor"),
            why=(*hashed, "The switch groups the ports statically, and knows no LACP."),
            beware=(uneven, "Nothing notices a wrong cable: prefer LACP where the switch has it."),
            connection_links=1,
            total_links=links,
        )
    if situation.both_ends and situation.subnets and not situation.bridge:
        return Advice(
            method=Multipath(),
            why=(
                "A route with one next hop a link spreads connections by a hash of their ports.",
                "It takes no switch: each link is a subnet of its own.",
            ),
            beware=(uneven,),
            connection_links=1,
            total_links=links,
        )
    return _adaptive(situation)


def _adaptive(situation: Situation) -> Advice:
    """The remaining methods if neither the switch nor the other hosts can be configured."""
    links = len(situation.rates_bits)
    many = situation.peers == "many"
    few = () if many else ("To one other host all traffic takes one link.",)
    if situation.bridge:
        return Advice(
            method=Bonding(mode="balance-tlb"),
            why=(
                "Sent traffic spreads over the links by its receiver, without help of a switch.",
                "balance-alb would answer ARP for addresses behind the bridge as well.",
            ),
            beware=(*few, "Received traffic comes over one link."),
            connection_links=1,
            total_links=links if many else 1,
        )
    return Advice(
        method=Bonding(mode="balance-alb"),
        why=(
            "Traffic of each other host gets a link, both ways, without help of a switch.",
            "It answers ARP with another link's address for each other host.",
        ),
        beware=(*few, "Drivers have to be able to change an address while up."),
        connection_links=1,
        total_links=links if many else 1,
    )
