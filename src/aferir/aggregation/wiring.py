"""Commands that create a test network, the same for namespaces here and in a guest; pure.

Links are veth pairs shaped by TBF at both ends, with a burst of two packets: a larger one would let
a short transfer exceed the rate. Offloads are off by default, because a packet of 64 KiB would pass
a shaped link as one.
"""

from __future__ import annotations

from typing import Literal

from aferir.aggregation.subnets import Command, End, reached, settings, subnets
from aferir.model.network import (
    Bonding,
    Event,
    Method,
    MultiRail,
    Network,
    Stream,
    Traffic,
    Tuning,
)

Wiring = Literal["direct", "switch", "aggregating", "planes"]
"""How hosts are connected. direct: cables from host to host. switch: all links on one bridge.
aggregating: a bridge over one bond per host, like a switch with static or LACP groups. planes: one
bridge per link number.
"""

SWITCH = "switch"
BOND = "bond0"
BRIDGE = "br0"
PORT = 5201
_SINGLE_PACKETS = ("tso", "off", "gso", "off")
_SETTLE_S = {"802.3ad": 3.0}
_ADAPTIVE = ("balance-tlb", "balance-alb")


def wiring(network: Network, method: Method) -> Wiring:
    """The wiring of a network for a method.

    balance-tlb and balance-alb need a switch between the hosts: they use a MAC address per link, so
    that with direct cables packets would be accepted on one link only.
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
    """Names of a host's containers; hosts are counted from 1."""
    return tuple(f"host{host}c{number}" for number in range(1, network.containers + 1))


def links(network: Network) -> tuple[str, ...]:
    """Names of the links inside each host."""
    return tuple(f"eth{number}" for number in range(network.links))


def address(method: Method, host: int, container: int = 0) -> str:
    """Address at which a host (counted from 1), or one of its containers, is reached."""
    return reached(method, 10 * container + host)


def make(network: Network, method: Method, tuning: Tuning, prefix: str) -> list[Command]:
    """Commands that create hosts, links and the method; `prefix` precedes each host's name."""
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


def make_end(
    network: Network, method: Method, tuning: Tuning, prefix: str, host: int
) -> list[Command]:
    """Commands for one host in a kernel of its own, which already has the links (eth0, ...)."""
    names = [f"host{host}", *containers(network, host)]
    made: list[Command] = []
    for name in names:
        made.append(("ip", "netns", "add", prefix + name))
        made.append(("ip", "-n", prefix + name, "link", "set", "lo", "up"))
        made += settings(prefix + name, tuning.settings)
    for link, name in enumerate(links(network)):
        made.append(("ip", "link", "set", name, "netns", f"{prefix}host{host}"))
        made += _end(network, tuning, prefix, host, link, switch=False)
    return made + _host(network, method, host, tuning, prefix)


def settle_s(method: Method) -> float:
    """Seconds until all links of a newly created network are in use."""
    return _SETTLE_S.get(method.mode, 1.0) if isinstance(method, Bonding) else 0.5


def streams(network: Network, method: Method, traffic: Traffic) -> list[Stream]:
    """Senders and receivers of all streams."""
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
            last = 10 * container + receiver
            addresses = [f"10.0.{link}.{last}" for link in range(rails)]
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
    """Cut or restore a link of host1 at its other end, so that host1 loses or gets the carrier."""
    direct = wiring(network, method) == "direct"
    namespace = prefix + ("host2" if direct else SWITCH)
    name = f"eth{event.link}" if direct else _port(1, event.link)
    return ("ip", "-n", namespace, "link", "set", name, "up" if event.up else "down")


def _port(host: int, link: int) -> str:
    return f"p{host}x{link}"


def _veth(one: tuple[str, str], other: tuple[str, str]) -> Command:
    """Create both ends of a veth pair in their namespaces, so that none appears in the host's."""
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
    """A constant MAC address, because the hashes of some methods use it."""
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
    if network.containers:
        return _bridged(network, method, host, tuning, prefix)
    end = End(f"{prefix}host{host}", host, links(network))
    return subnets(method, end, network.hosts)


def _bridged(
    network: Network, method: Method, host: int, tuning: Tuning, prefix: str
) -> list[Command]:
    """Create a bridge over each link, and an interface to each of them in every container."""
    namespace = f"{prefix}host{host}"
    inside = ("ip", "-n", namespace)
    made: list[Command] = []
    for link, name in enumerate(links(network)):
        made.append((*inside, "link", "add", f"br{link}", "type", "bridge"))
        made.append((*inside, "link", "set", name, "master", f"br{link}"))
        made.append((*inside, "link", "set", name, "up"))
        made.append((*inside, "link", "set", f"br{link}", "addrgenmode", "none", "up"))
    for number, container in enumerate(containers(network, host), 1):
        for link, name in enumerate(links(network)):
            port = (f"c{number}x{link}", f"br{link}")
            made += _port_of_container(port, (f"{prefix}{container}", name), namespace, tuning)
        end = End(f"{prefix}{container}", 10 * number + host, links(network))
        made += subnets(method, end, network.hosts)
    bridges = tuple(f"br{link}" for link in range(network.links))
    return made + subnets(method, End(namespace, host, bridges), network.hosts)


def bond_options(method: Bonding) -> Command:
    """Arguments of `ip link add NAME` for a bond."""
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
    """Create a bond; for containers with a bridge over it, as IaaS managers do."""
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
            end = (f"{prefix}{container}", "eth0")
            made += _port_of_container((f"c{number}", BRIDGE), end, namespace, tuning)
            where = ("ip", "-n", f"{prefix}{container}", "address", "add")
            made.append((*where, f"{address(method, host, number)}/24", "dev", "eth0"))
    made.append((*inside, "address", "add", f"{address(method, host)}/24", "dev", top))
    return made


def _port_of_container(
    port: tuple[str, str], end: tuple[str, str], host: str, tuning: Tuning
) -> list[Command]:
    """Connect the interface `end` of a container to its host's bridge; `port`: name, bridge."""
    name, bridge = port
    return [
        _veth((host, name), end),
        _offloads(tuning, *end),
        ("ip", "-n", host, "link", "set", name, "addrgenmode", "none", "master", bridge),
        ("ip", "-n", host, "link", "set", name, "up"),
        ("ip", "-n", end[0], "link", "set", end[1], "addrgenmode", "none", "up"),
    ]
