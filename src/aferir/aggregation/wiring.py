"""The commands that make a test network: pure, the same for namespaces here and in a guest.

Links are veth pairs shaped by TBF at both ends. A burst of two packets: a larger one lets a short
transfer exceed the rate. Offloads are off unless asked for, since a packet of 64 KiB would pass
a shaped link as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from aferir.model.network import (
    Bonding,
    Event,
    Method,
    Mptcp,
    Multipath,
    MultiRail,
    Network,
    Setting,
    Single,
    Stream,
    Traffic,
    Tuning,
)

Command = tuple[str, ...]
Wiring = Literal["direct", "switch", "aggregating", "planes"]
"""direct: cables from host to host. switch: all links into one bridge. aggregating: a bridge over
one bond a host, as a switch with static or LACP groups has. planes: one bridge a link number."""

SWITCH = "switch"
BOND = "bond0"
BRIDGE = "br0"
PORT = 5201
_SINGLE_PACKETS = ("tso", "off", "gso", "off")
_SETTLE_S = {"802.3ad": 3.0}
_ADAPTIVE = ("balance-tlb", "balance-alb")


def wiring(network: Network, method: Method) -> Wiring:
    """How the links of a network are laid for a method.

    balance-tlb and balance-alb take packets on one link alone unless a switch stands between, for
    they give each link its own address.
    """
    if isinstance(method, Bonding):
        if method.mode in _ADAPTIVE:
            return "switch"
        if network.hosts == 2:
            return "direct"
        return "switch" if method.mode == "active-backup" else "aggregating"
    return "direct" if network.hosts == 2 else "planes"


def hosts(network: Network) -> tuple[str, ...]:
    """Names of the hosts."""
    return tuple(f"host{number}" for number in range(1, network.hosts + 1))


def containers(network: Network, host: int) -> tuple[str, ...]:
    """Names of the containers of a host, which is counted from 1."""
    return tuple(f"host{host}c{number}" for number in range(1, network.containers + 1))


def links(network: Network) -> tuple[str, ...]:
    """Names of the links inside each host."""
    return tuple(f"eth{number}" for number in range(network.links))


def address(method: Method, host: int, container: int = 0) -> str:
    """Where a host (counted from 1), or one of its containers, is reached."""
    if isinstance(method, Multipath):
        return f"10.1.0.{host}"
    return f"10.0.0.{10 * container + host}"


def make(network: Network, method: Method, tuning: Tuning, prefix: str) -> list[Command]:
    """Everything that makes hosts, links and the method; `prefix` goes before each host's name."""
    laid = wiring(network, method)
    names = [*hosts(network), *((SWITCH,) if laid != "direct" else ())]
    for number in range(1, network.hosts + 1):
        names += containers(network, number)
    made: list[Command] = []
    for name in names:
        made.append(("ip", "netns", "add", prefix + name))
        made.append(("ip", "-n", prefix + name, "link", "set", "lo", "up"))
        if name != SWITCH:
            made += settings(prefix + name, tuning.settings)
    if laid == "direct":
        made += _cables(network, tuning, prefix)
    else:
        made += _switch(network, method, laid, tuning, prefix)
    for number in range(1, network.hosts + 1):
        made += _host(network, method, number, tuning, prefix)
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


def settle_s(method: Method) -> float:
    """Seconds until the links of a network that was just made have all joined in."""
    return _SETTLE_S.get(method.mode, 1.0) if isinstance(method, Bonding) else 0.5


def streams(network: Network, method: Method, traffic: Traffic) -> list[Stream]:
    """Who sends to whom."""
    pairs = {
        "pair": [(1, 2)],
        "fan-out": [(1, other) for other in range(2, network.hosts + 1)],
        "fan-in": [(other, 1) for other in range(2, network.hosts + 1)],
    }[traffic.pattern]
    found: list[Stream] = []
    for sender, receiver in pairs:
        for tenant in range(1, traffic.tenants + 1):
            container = tenant if tenant <= network.containers else 0
            inside = f"c{container}" if container else ""
            rails = network.links if isinstance(method, MultiRail) else 1
            addresses = [f"10.0.{link}.{receiver}" for link in range(rails)]
            found.append(
                Stream(
                    sender=f"host{sender}{inside}",
                    receiver=f"host{receiver}{inside}",
                    addresses=tuple(addresses)
                    if rails > 1
                    else (address(method, receiver, container),),
                    port=PORT + len(found),
                    connections=traffic.connections * rails,
                )
            )
    return found


def change(network: Network, method: Method, event: Event, prefix: str) -> Command:
    """Cut or restore a link of host1: its other end goes down, so that it loses its carrier."""
    direct = wiring(network, method) == "direct"
    namespace = prefix + ("host2" if direct else SWITCH)
    name = f"eth{event.link}" if direct else _port(1, event.link)
    return ("ip", "-n", namespace, "link", "set", name, "up" if event.up else "down")


def _port(host: int, link: int) -> str:
    return f"p{host}x{link}"


def _veth(one: tuple[str, str], other: tuple[str, str]) -> Command:
    """Both ends are born where they belong; a moved one would show on the host for a moment."""
    veth = ("ip", "link", "add", one[1], "netns", one[0], "type", "veth")
    return (*veth, "peer", "name", other[1], "netns", other[0])


def _shape(network: Network, tuning: Tuning, namespace: str, name: str) -> list[Command]:
    inside = ("ip", "-n", namespace, "link", "set", "dev", name)
    burst = 2 * (network.mtu + 36)
    rate = ("rate", f"{network.rate_bits}bit", "burst", str(burst))
    wait = ("latency", f"{tuning.queue_s * 1e6:.0f}us")
    tbf = ("tc", "-n", namespace, "qdisc", "add", "dev", name, "root", "handle", "1:", "tbf")
    made: list[Command] = [
        (*inside, "addrgenmode", "none", "mtu", str(network.mtu)),
        _offloads(tuning, namespace, name),
        (*tbf, *rate, *wait),
    ]
    if network.delay_s > 0:
        held = int(network.rate_bits / 8 * (network.delay_s + tuning.queue_s) / network.mtu) + 2
        netem = ("tc", "-n", namespace, "qdisc", "add", "dev", name, "parent", "1:1", "netem")
        made.append((*netem, "delay", f"{network.delay_s * 1e6:.0f}us", "limit", str(held)))
    return made


def _offloads(tuning: Tuning, namespace: str, name: str) -> Command:
    on = "on" if tuning.offloads else "off"
    features = tuple(word for feature in ("tso", "gso", "gro") for word in (feature, on))
    return ("ip", "netns", "exec", namespace, "ethtool", "-K", name, *features)


def _mac(host: int, link: int, *, switch: bool = False) -> str:
    """The same each time, for hashes of some methods look at it."""
    return f"02:00:00:00:{128 * switch + host:02x}:{link:02x}"


def _end(
    network: Network, tuning: Tuning, prefix: str, host: int, link: int, *, switch: bool
) -> list[Command]:
    namespace = prefix + (SWITCH if switch else f"host{host}")
    name = _port(host, link) if switch else f"eth{link}"
    mac = ("ip", "-n", namespace, "link", "set", "dev", name)
    return [
        (*mac, "address", _mac(host, link, switch=switch)),
        *_shape(network, tuning, namespace, name),
    ]


def _cables(network: Network, tuning: Tuning, prefix: str) -> list[Command]:
    made: list[Command] = []
    for link, name in enumerate(links(network)):
        made.append(_veth((f"{prefix}host1", name), (f"{prefix}host2", name)))
        for host in (1, 2):
            made += _end(network, tuning, prefix, host, link, switch=False)
    return made


def _switch(
    network: Network, method: Method, laid: Wiring, tuning: Tuning, prefix: str
) -> list[Command]:
    inside = ("ip", "-n", prefix + SWITCH)
    planes = network.links if laid == "planes" else 1
    made: list[Command] = []
    for plane in range(planes):
        made.append((*inside, "link", "add", f"br{plane}", "type", "bridge"))
        made.append((*inside, "link", "set", f"br{plane}", "addrgenmode", "none", "up"))
    for host in range(1, network.hosts + 1):
        group = f"group{host}"
        if laid == "aggregating" and isinstance(method, Bonding):
            made.append((*inside, "link", "add", group, *bond_options(method)))
        for link, name in enumerate(links(network)):
            port = _port(host, link)
            made.append(_veth((f"{prefix}host{host}", name), (prefix + SWITCH, port)))
            made += _end(network, tuning, prefix, host, link, switch=False)
            made += _end(network, tuning, prefix, host, link, switch=True)
            above = group if laid == "aggregating" else f"br{link if laid == 'planes' else 0}"
            made.append((*inside, "link", "set", port, "master", above))
            made.append((*inside, "link", "set", port, "up"))
        if laid == "aggregating":
            made.append((*inside, "link", "set", group, "addrgenmode", "none", "master", "br0"))
            made.append((*inside, "link", "set", group, "up"))
    return made


def _host(
    network: Network, method: Method, host: int, tuning: Tuning, prefix: str
) -> list[Command]:
    if isinstance(method, Bonding):
        return _bonded(network, method, host, tuning, prefix)
    inside = ("ip", "-n", f"{prefix}host{host}")
    made: list[Command] = []
    for link, name in enumerate(links(network)):
        made.append((*inside, "link", "set", name, "up"))
        if link == 0 or not isinstance(method, Single):
            made.append((*inside, "address", "add", f"10.0.{link}.{host}/24", "dev", name))
    if isinstance(method, Mptcp):
        made += _mptcp(network, method, host, prefix)
    elif isinstance(method, Multipath):
        made += _multipath(network, method, host, prefix)
    else:
        assert isinstance(method, Single | MultiRail)
    return made


def bond_options(method: Bonding) -> Command:
    """What `ip link add NAME` is told of a bond."""
    options: Command = ("type", "bond", "mode", method.mode, "miimon", str(method.miimon_ms))
    if method.mode == "balance-rr":
        options += ("packets_per_slave", str(method.packets_per_slave))
    if method.mode in ("balance-xor", "802.3ad", "balance-tlb"):
        options += ("xmit_hash_policy", method.xmit_hash_policy)
    if method.mode == "802.3ad":
        options += ("lacp_rate", method.lacp_rate)
    return options


def _bonded(
    network: Network, method: Bonding, host: int, tuning: Tuning, prefix: str
) -> list[Command]:
    """A bond; behind a bridge where there are containers, as an IaaS manager lays its network."""
    namespace = f"{prefix}host{host}"
    inside = ("ip", "-n", namespace)
    made: list[Command] = [(*inside, "link", "add", BOND, *bond_options(method))]
    for name in links(network):
        made.append((*inside, "link", "set", name, "master", BOND))
        made.append((*inside, "link", "set", name, "up"))
    made.append((*inside, "link", "set", BOND, "addrgenmode", "none", "up"))
    if not tuning.bond_offloads:
        made.append(("ip", "netns", "exec", namespace, "ethtool", "-K", BOND, *_SINGLE_PACKETS))
    top = BOND
    if network.containers:
        top = BRIDGE
        made.append((*inside, "link", "add", BRIDGE, "type", "bridge"))
        made.append((*inside, "link", "set", BOND, "master", BRIDGE))
        made.append((*inside, "link", "set", BRIDGE, "addrgenmode", "none", "up"))
        for number, container in enumerate(containers(network, host), 1):
            made += _container(number, f"{prefix}{container}", namespace, tuning)
            where = ("ip", "-n", f"{prefix}{container}", "address", "add")
            made.append((*where, f"{address(method, host, number)}/24", "dev", "eth0"))
    made.append((*inside, "address", "add", f"{address(method, host)}/24", "dev", top))
    return made


def _container(number: int, namespace: str, host: str, tuning: Tuning) -> list[Command]:
    port = f"c{number}"
    return [
        _veth((host, port), (namespace, "eth0")),
        _offloads(tuning, namespace, "eth0"),
        ("ip", "-n", host, "link", "set", port, "addrgenmode", "none", "master", BRIDGE),
        ("ip", "-n", host, "link", "set", port, "up"),
        ("ip", "-n", namespace, "link", "set", "eth0", "addrgenmode", "none"),
        ("ip", "-n", namespace, "link", "set", "eth0", "up"),
    ]


def _mptcp(network: Network, method: Mptcp, host: int, prefix: str) -> list[Command]:
    """Each host tells the other all its addresses; whoever connects makes a subflow to each.

    The first address is that of the connection itself and is not told again. Routes back are
    strict about the link they come from, because each link is a subnet of its own.
    """
    inside = ("ip", "-n", f"{prefix}host{host}", "mptcp")
    most = str(network.links - 1)
    made: list[Command] = [
        (*inside, "limits", "set", "subflow", most, "add_addr_accepted", most),
        *settings(f"{prefix}host{host}", _mptcp_settings(method)),
    ]
    made += [
        (*inside, "endpoint", "add", f"10.0.{link}.{host}", "dev", f"eth{link}", "signal")
        for link in range(1, network.links)
    ]
    return made


def _mptcp_settings(method: Mptcp) -> list[Setting]:
    """Linux 6.1 has one scheduler, and no parameter to choose it with."""
    chosen = [Setting("net.mptcp.enabled", "1")]
    if method.scheduler != "default":
        chosen.append(Setting("net.mptcp.scheduler", method.scheduler))
    return chosen


def _multipath(network: Network, method: Multipath, host: int, prefix: str) -> list[Command]:
    """One route for each other host, with the next hop over each link (ip-route(8))."""
    namespace = f"{prefix}host{host}"
    inside = ("ip", "-n", namespace)
    made: list[Command] = [
        (*inside, "address", "add", f"{address(method, host)}/32", "dev", "lo"),
        *settings(
            namespace,
            [
                Setting("net.ipv4.fib_multipath_hash_policy", str(method.hash_policy)),
                Setting("net.ipv4.fib_multipath_use_neigh", "1"),
                Setting("net.ipv4.conf.all.ignore_routes_with_linkdown", "1"),
            ],
        ),
    ]
    for other in range(1, network.hosts + 1):
        if other == host:
            continue
        route: Command = (*inside, "route", "add", f"{address(method, other)}/32")
        route += ("src", address(method, host))
        for link, name in enumerate(links(network)):
            route += ("nexthop", "via", f"10.0.{link}.{other}", "dev", name)
        made.append(route)
    return made
