"""The network of a cluster: a bridge in a namespace of its own, invisible on the host.

The bridges of a cluster on several hosts are joined by VXLAN (`aferir.linux.overlay`).
"""

from __future__ import annotations

from pathlib import Path

from aferir.cluster.description import Node, mac, number_of
from aferir.linux import journal, namespace, overlay, process
from aferir.model.overlay import Overlay

INTERFACE = "eth0"
BRIDGE = "bridge"
PREFIX = 16
"""Length in bits of the network's prefix, which nodes and bridges have in common."""
_MTU = 1500
_TIME_LIMIT_S = 60.0


def name_of(entry: journal.Entry) -> str:
    """Name of the bridge's namespace, below /run/netns."""
    return namespace.name_of(entry, BRIDGE)


def make(entry: journal.Entry, hosts: Overlay | None = None) -> int:
    """Create the bridge, joined to the other hosts' ones; returns the largest packet in bytes.

    Errors: ProgramError with ip(8)'s message if the kernel refuses; MissingError without VXLAN.
    """
    process.run(["ip", "netns", "add", name_of(entry)], timeout_s=_TIME_LIMIT_S)
    lines = [
        f"link add {BRIDGE} type bridge",
        f"link set {BRIDGE} addrgenmode none up",
        f"address add {_own_address(hosts)}/{PREFIX} dev {BRIDGE}",
        "link set lo up",
    ]
    _batch(["ip", "-n", name_of(entry)], lines)
    if hosts is None:
        return _MTU
    overlay.extend(hosts, name_of(entry), BRIDGE)
    return overlay.mtu(name_of(entry))


def _own_address(hosts: Overlay | None) -> str:
    """Address of the bridge in its namespace, from which commands are sent to guests."""
    return f"10.77.1.{1 if hosts is None else hosts.place + 1}"


def exists(entry: journal.Entry | None) -> bool:
    """Whether the bridge exists; a reboot of the host removes it."""
    return entry is not None and (namespace.FOLDER / name_of(entry)).exists()


def join(entry: journal.Entry, node: Node, process_id: int, mtu: int) -> None:
    """Connect a container, given its first process, to the bridge; `mtu` is in bytes.

    The interface is removed together with the container's namespace.
    """
    veth = f"link add {INTERFACE} address {mac(number_of(node))} netns {process_id} type veth"
    _batch(["ip"], [f"{veth} peer name {node.name} netns {name_of(entry)}"])
    plug(entry, node)
    _batch(
        ["nsenter", f"--net={Path('/proc') / str(process_id) / 'ns/net'}", "ip"],
        [
            f"address add {node.address}/{PREFIX} dev {INTERFACE}",
            f"link set {INTERFACE} addrgenmode none mtu {mtu}",
            f"link set {INTERFACE} up",
        ],
    )


def plug(entry: journal.Entry, node: Node) -> None:
    """Attach the interface that is named after the node to the bridge."""
    _batch(
        ["ip", "-n", name_of(entry)],
        [f"link set {node.name} master {BRIDGE} addrgenmode none", f"link set {node.name} up"],
    )


def _batch(ip: list[str], lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    process.run([*ip, "-batch", "-"], input_text=text, timeout_s=_TIME_LIMIT_S)
