"""Methods that have a subnet on each link: what is set at one end of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.model.network import Method, Mptcp, Multipath, MultiRail, Setting, Single

Command = tuple[str, ...]
_MOST_SUBFLOWS = 8
"""MPTCP_PM_ADDR_MAX of net/mptcp/protocol.h."""


class End(msgspec.Struct, frozen=True):
    """A host or a container."""

    namespace: str
    number: int
    """Last part of its addresses: 1, 2, ... of hosts, 11, 12, ... of their first containers."""
    devices: tuple[str, ...]
    """One for each link."""


def reached(method: Method, number: int) -> str:
    """The address that programs use: of the first link, or, over routes, of no link."""
    return f"{'10.1.0' if isinstance(method, Multipath) else '10.0.0'}.{number}"


def subnets(method: Method, end: End, hosts: int) -> list[Command]:
    """Addresses of an end, and what the method makes of them; `hosts` are there in all."""
    inside = ("ip", "-n", end.namespace)
    made: list[Command] = []
    for link, name in enumerate(end.devices):
        made.append((*inside, "link", "set", name, "up"))
        if link == 0 or not isinstance(method, Single):
            made.append((*inside, "address", "add", f"10.0.{link}.{end.number}/24", "dev", name))
    if isinstance(method, Mptcp):
        made += _mptcp(method, end)
    elif isinstance(method, Multipath):
        first = end.number - end.number % 10
        others = [first + host for host in range(1, hosts + 1) if first + host != end.number]
        made += _multipath(method, end, others)
    else:
        assert isinstance(method, Single | MultiRail)
    return made


def settings(namespace: str, chosen: Sequence[Setting]) -> list[Command]:
    """Kernel parameters inside a namespace; the image of a guest has no sysctl(8)."""
    return [
        (
            *("ip", "netns", "exec", namespace, "sh", "-c"),
            f"echo '{setting.value}' > /proc/sys/{setting.name.replace('.', '/')}",
        )
        for setting in chosen
    ]


def _mptcp(method: Mptcp, end: End) -> list[Command]:
    """Each host tells the other all its addresses; whoever connects makes a subflow to each.

    The first address is that of the connection itself and is not told again. Routes back are
    strict about the link they come from, because each link is a subnet of its own.
    """
    inside = ("ip", "-n", end.namespace, "mptcp")
    others = len(end.devices) - 1
    limits = ("subflow", str(most_subflows(others)), "add_addr_accepted", str(others))
    made: list[Command] = [
        (*inside, "limits", "set", *limits),
        *settings(end.namespace, _mptcp_settings(method)),
    ]
    made += [
        (*inside, "endpoint", "add", f"10.0.{link}.{end.number}", "dev", name, "signal")
        for link, name in enumerate(end.devices)
        if link > 0
    ]
    return made


def most_subflows(told: int) -> int:
    """Limit for a host that is told so many addresses; the kernel's own is 8.

    Who accepts the connection is told addresses, too, connects to each, and is refused, for nobody
    listens there. Where that attempt counts just as the other end's subflow arrives, a limit of no
    more than the links refuses that one instead, and its link is never used again.
    """
    return min(2 * told, _MOST_SUBFLOWS)


def _mptcp_settings(method: Mptcp) -> list[Setting]:
    """Linux 6.1 has one scheduler, and no parameter to choose it with."""
    chosen = [Setting("net.mptcp.enabled", "1")]
    if method.scheduler != "default":
        chosen.append(Setting("net.mptcp.scheduler", method.scheduler))
    return chosen


def _multipath(method: Multipath, end: End, others: Sequence[int]) -> list[Command]:
    """One route for each other host, with the next hop over each link (ip-route(8))."""
    inside = ("ip", "-n", end.namespace)
    own = reached(method, end.number)
    made: list[Command] = [
        (*inside, "address", "add", f"{own}/32", "dev", "lo"),
        *settings(
            end.namespace,
            [
                Setting("net.ipv4.fib_multipath_hash_policy", str(method.hash_policy)),
                Setting("net.ipv4.fib_multipath_use_neigh", "1"),
                Setting("net.ipv4.conf.all.ignore_routes_with_linkdown", "1"),
            ],
        ),
    ]
    for other in others:
        route: Command = (*inside, "route", "add", f"{reached(method, other)}/32", "src", own)
        for link, name in enumerate(end.devices):
            route += ("nexthop", "via", f"10.0.{link}.{other}", "dev", name)
        made.append(route)
    return made
