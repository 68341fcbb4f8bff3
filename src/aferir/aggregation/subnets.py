"""Methods with one subnet per link: commands for one end; pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.model.network import Method, Mptcp, Multipath, MultiRail, Setting, Single

Command = tuple[str, ...]
_MOST_SUBFLOWS = 8
"""Kernel's limit of subflows: MPTCP_PM_ADDR_MAX of net/mptcp/protocol.h."""


class End(msgspec.Struct, frozen=True):
    """One end of a connection: a host, or a container on it."""

    namespace: str
    number: int
    """Last number of the end's addresses: that of the host (1, 2, ...), plus 10 for its first
    container, 20 for the second, and so on.
    """
    devices: tuple[str, ...]
    """Name of the interface for each link."""


def reached(method: Method, number: int) -> str:
    """Address that programs use: the first link's, or, over routes, one that belongs to no link."""
    return f"{'10.1.0' if isinstance(method, Multipath) else '10.0.0'}.{number}"


def subnets(method: Method, end: End, hosts: int) -> list[Command]:
    """Commands that set an end's addresses and the method up; `hosts`: number of all hosts."""
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
    """Commands that set kernel parameters in a namespace; guest images have no sysctl(8)."""
    return [
        (
            *("ip", "netns", "exec", namespace, "sh", "-c"),
            f"echo '{setting.value}' > /proc/sys/{setting.name.replace('.', '/')}",
        )
        for setting in chosen
    ]


def _mptcp(method: Mptcp, end: End) -> list[Command]:
    """Commands for MPTCP: hosts advertise addresses, to which the connecting end adds subflows.

    The first address is that of the connection itself and is not advertised. Each link is a subnet
    of its own, so that replies return over the link on which a packet came.
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
    """Limit of subflows for a host that receives `told` addresses; at most the kernel's 8.

    The accepting host receives addresses too, tries to connect to each, and is refused, as nobody
    listens there. If such an attempt is counted when a subflow of the other end arrives, a limit
    equal to the number of links would refuse that subflow, and its link would never be used again.
    """
    return min(2 * told, _MOST_SUBFLOWS)


def _mptcp_settings(method: Mptcp) -> list[Setting]:
    """Settings of MPTCP; Linux 6.1 has one scheduler, and no parameter to choose it."""
    chosen = [Setting("net.mptcp.enabled", "1")]
    if method.scheduler != "default":
        chosen.append(Setting("net.mptcp.scheduler", method.scheduler))
    return chosen


def _multipath(method: Multipath, end: End, others: Sequence[int]) -> list[Command]:
    """One route for each other host, with a next hop over each link (ip-route(8))."""
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
