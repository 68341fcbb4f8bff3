"""Commands that aggregate links of a host in use, and commands that undo this; pure functions.

A host's interfaces already have addresses and routes. A bond takes them over, and returns them when
it is undone.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.aggregation.subnets import Command, most_subflows
from aferir.aggregation.wiring import bond_options
from aferir.errors import UsageError
from aferir.model.network import Bonding, Method, Mptcp, Multipath, Tuning


class Address(msgspec.Struct, frozen=True):
    """An address as `ip -j address show` prints it."""

    local: str
    prefixlen: int
    family: str = "inet"
    scope: str = "global"


class Interface(msgspec.Struct, frozen=True):
    """An interface as `ip -j address show` prints it."""

    ifname: str
    flags: tuple[str, ...] = ()
    mtu: int = 1500
    master: str = ""
    addr_info: tuple[Address, ...] = ()


class Route(msgspec.Struct, frozen=True):
    """A route as `ip -j route show` prints it; `dev` is missing if there are several next hops."""

    dst: str
    dev: str = ""
    gateway: str = ""
    protocol: str = ""
    scope: str = ""
    prefsrc: str = ""
    metric: int | None = None


class State(msgspec.Struct, frozen=True):
    """Interfaces and routes of a host, or of a network namespace, before any change."""

    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...] = ()
    settings: dict[str, str] = {}
    """Present values of the kernel parameters that a method sets."""
    mptcp_limits: tuple[int, int] = (2, 0)
    """Limits of subflows, and of addresses accepted from the other end."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Aggregate that is to be set up: method, interfaces and options."""

    method: Method
    interfaces: tuple[str, ...]
    name: str = "bond0"
    """Name of the bond, under which its undo commands are stored."""
    bridge: str = ""
    """Name of a bridge over the bond, for containers and guests; "": no bridge."""
    destination: str = ""
    """Address or prefix to reach over all links, for the method multipath."""
    gateways: tuple[str, ...] = ()
    """Next hop over each link, for the method multipath."""
    tuning: Tuning = Tuning()


class Steps(msgspec.Struct, frozen=True):
    """Commands to run, and commands that undo them after a failure at any step, both in order."""

    do: tuple[Command, ...]
    undo: tuple[Command, ...]


def settings_of(wish: Wish) -> tuple[str, ...]:
    """Names of the kernel parameters that will be set, whose present values must be read."""
    return tuple(setting for setting, _ in _settings(wish))


def steps(wish: Wish, state: State, namespace: str = "") -> Steps:
    """Commands for the host itself, or for one of its namespaces.

    Errors: UsageError if the interfaces cannot be aggregated in this way.
    """
    found = {interface.ifname: interface for interface in state.interfaces}
    _check(wish, found)
    links = [found[name] for name in wish.interfaces]
    inside: Command = ("ip", "-n", namespace) if namespace else ("ip",)
    if isinstance(wish.method, Bonding):
        made = _bond(wish, wish.method, links, state, inside)
    elif isinstance(wish.method, Mptcp):
        made = _mptcp(links, state, inside)
    elif isinstance(wish.method, Multipath):
        made = _multipath(wish, inside)
    else:
        raise UsageError(
            "this method needs nothing of the kernel",
            remedy="give the program the links: mpirun --mca btl_tcp_if_include SUBNET,SUBNET",
        )
    before = tuple(_set(name, value, namespace) for name, value in _settings(wish))
    after = tuple(_set(name, value, namespace) for name, value in state.settings.items())
    return Steps(do=(*before, *made.do), undo=(*made.undo, *after))


def _check(wish: Wish, found: dict[str, Interface]) -> None:
    if len(set(wish.interfaces)) < 2:
        raise UsageError("there is nothing to aggregate", remedy="name two interfaces or more")
    for name in wish.interfaces:
        if name not in found:
            known = ", ".join(other for other in found if other != "lo")
            raise UsageError(f"there is no interface `{name}`", remedy=f"there are: {known}")
        if found[name].master:
            raise UsageError(
                f"`{name}` belongs to `{found[name].master}` already",
                remedy=f"ip link set {name} nomaster",
            )
    made = {wish.name, wish.bridge} - {""} if isinstance(wish.method, Bonding) else set()
    if taken := made & set(found):
        raise UsageError(f"there is a `{min(taken)}` already", remedy="choose another --name")
    if isinstance(wish.method, Multipath) and (
        not wish.destination or len(wish.gateways) != len(wish.interfaces)
    ):
        raise UsageError(
            "multipath needs where to, and one next hop over each interface",
            remedy="e.g. --to 10.1.0.2 --via 10.0.0.2,10.0.1.2",
        )


def _settings(wish: Wish) -> list[tuple[str, str]]:
    chosen = [(setting.name, setting.value) for setting in wish.tuning.settings]
    if isinstance(wish.method, Mptcp):
        chosen.append(("net.mptcp.enabled", "1"))
    elif isinstance(wish.method, Multipath):
        policy = str(wish.method.hash_policy)
        chosen.append(("net.ipv4.fib_multipath_hash_policy", policy))
        chosen.append(("net.ipv4.conf.all.ignore_routes_with_linkdown", "1"))
    return chosen


def _set(name: str, value: str, namespace: str) -> Command:
    inside: Command = ("ip", "netns", "exec", namespace) if namespace else ()
    return (*inside, "sh", "-c", f"echo '{value}' > /proc/sys/{name.replace('.', '/')}")


def _bond(
    wish: Wish, method: Bonding, links: Sequence[Interface], state: State, inside: Command
) -> Steps:
    """Move the first interface's addresses and routes to the bond, or to the bridge over it."""
    top = wish.bridge or wish.name
    within: Command = ("ip", "netns", "exec", inside[2]) if len(inside) > 1 else ()
    do: list[Command] = [(*inside, "link", "add", wish.name, *bond_options(method))]
    undo: list[Command] = []
    if wish.bridge:
        undo.append((*inside, "link", "delete", wish.bridge))
    undo.append((*inside, "link", "delete", wish.name))
    for link in links:
        do.append((*inside, "link", "set", link.ifname, "down"))
        do.append((*inside, "address", "flush", "dev", link.ifname))
        do.append((*inside, "link", "set", link.ifname, "master", wish.name))
        do.append((*inside, "link", "set", link.ifname, "up"))
        up = "up" if "UP" in link.flags else "down"
        undo.append((*inside, "link", "set", link.ifname, "nomaster"))
        undo.append((*inside, "link", "set", link.ifname, up))
        undo += _addresses(link, link.ifname, inside)
    do.append((*inside, "link", "set", wish.name, "up"))
    if not wish.tuning.bond_offloads:
        do.append((*within, "ethtool", "-K", wish.name, "tso", "off", "gso", "off"))
    if wish.bridge:
        do.append((*inside, "link", "add", wish.bridge, "type", "bridge"))
        do.append((*inside, "link", "set", wish.name, "master", wish.bridge))
        do.append((*inside, "link", "set", wish.bridge, "up"))
    do += _addresses(links[0], top, inside)
    for route in _own(state.routes):
        if route.dev == links[0].ifname:
            do.append(_route(route, top, inside))
        if route.dev in wish.interfaces:
            undo.append(_route(route, route.dev, inside))
    return Steps(tuple(do), tuple(undo))


def _addresses(link: Interface, device: str, inside: Command) -> list[Command]:
    return [
        (*inside, "address", "replace", f"{one.local}/{one.prefixlen}", "dev", device)
        for one in link.addr_info
        if one.scope == "global"
    ]


def _own(routes: Sequence[Route]) -> list[Route]:
    """Routes that the kernel did not add itself for addresses; directly connected ones first."""
    chosen = [route for route in routes if route.protocol != "kernel"]
    return sorted(chosen, key=lambda route: bool(route.gateway))


def _route(route: Route, device: str, inside: Command) -> Command:
    command: Command = (*inside, "route", "replace", route.dst)
    if route.gateway:
        command += ("via", route.gateway)
    command += ("dev", device)
    if route.prefsrc:
        command += ("src", route.prefsrc)
    return command if route.metric is None else (*command, "metric", str(route.metric))


def _mptcp(links: Sequence[Interface], state: State, inside: Command) -> Steps:
    """Create a subflow from each local address, and advertise each to the other end.

    Endpoints are numbered from 101, so that undoing removes no others.
    """
    do: list[Command] = []
    undo: list[Command] = []
    accepted = str(min(len(links), 8))
    limits = ("subflow", str(most_subflows(len(links))), "add_addr_accepted", accepted)
    do.append((*inside, "mptcp", "limits", "set", *limits))
    for number, link in enumerate(links, 101):
        known = [one for one in link.addr_info if one.family == "inet" and one.scope == "global"]
        if not known:
            raise UsageError(
                f"`{link.ifname}` has no IPv4 address", remedy="each link needs one, of its subnet"
            )
        add = ("mptcp", "endpoint", "add", known[0].local, "dev", link.ifname)
        do.append((*inside, *add, "id", str(number), "subflow", "signal"))
        undo.append((*inside, "mptcp", "endpoint", "delete", "id", str(number)))
    subflows, accepted = (str(limit) for limit in state.mptcp_limits)
    limits = ("subflow", subflows, "add_addr_accepted", accepted)
    undo.append((*inside, "mptcp", "limits", "set", *limits))
    return Steps(tuple(do), tuple(undo))


def _multipath(wish: Wish, inside: Command) -> Steps:
    route: Command = (*inside, "route", "add", wish.destination)
    for gateway, name in zip(wish.gateways, wish.interfaces, strict=True):
        route += ("nexthop", "via", gateway, "dev", name)
    return Steps((route,), ((*inside, "route", "delete", wish.destination),))
