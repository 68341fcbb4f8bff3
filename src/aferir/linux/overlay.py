"""Connects an instance to instances on other hosts by VXLAN (RFC 7348; ip-link(8), bridge(8)).

The interface is made inside the instance's namespace; only its UDP packets go through the host. So
the host has no interface in the network, and the end of the instance removes all of it.
"""

from __future__ import annotations

import array
import fcntl
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, namespace, process
from aferir.linux.journal import Entry
from aferir.model.overlay import PORT, PREFIX, Overlay

INTERFACE = "eth0"
"""Name of the interface in the instance."""
_EVERYBODY = "00:00:00:00:00:00"
"""MAC address of the entries for frames to unknown receivers: they go to all other hosts."""
_PORT_MAC = "02:00:0a:4f:00:01"
"""MAC address of the interface while it is a port of a guest's bridge.

No frame is sent from it; it only has to differ from the guest's address, which the bridge would
otherwise take for its own.
"""
_TIME_LIMIT_S = 60.0
_ETH_P_ALL = 3
_SIOCETHTOOL, _ETHTOOL_SGRO = 0x8946, 0x2C
_IFREQ_BYTES = 40


def join(overlay: Overlay, process_id: int) -> None:
    """Connect a container by its first process. Errors: MissingError with the kernel's reason."""
    with _refusals():
        enter = _made(overlay, str(process_id), Path(f"/proc/{process_id}/ns/net"))
        _batch([*enter, "ip"], [f"address add {overlay.address}/{PREFIX} dev {INTERFACE}"])


def for_guest(overlay: Overlay) -> Entry:
    """Make a namespace with an interface for a guest's frames; `namespace.give_back` removes it.

    Errors: MissingError with the kernel's reason; nothing is left then.
    """
    entry = journal.write(namespace.KIND, {})
    name = name_of(entry)
    try:
        with _refusals():
            process.run(["ip", "netns", "add", name], timeout_s=_TIME_LIMIT_S)
            enter = _made(overlay, name, namespace.FOLDER / name)
            _batch([*enter, "ip"], [f"link set {INTERFACE} promisc on arp off"])
    except BaseException:
        namespace.give_back(entry)
        raise
    return entry


def bridged(entry: Entry, tap: str) -> None:
    """Bridge the interface that `for_guest` made with a new tap device in the same namespace.

    Errors: MissingError with the kernel's reason.
    """
    name = name_of(entry)
    lines = [
        "link add bridge type bridge",
        # The guest has the address that it was made with, which a bridge would take for its own.
        f"link set {INTERFACE} address {_PORT_MAC} master bridge",
        f"tuntap add dev {tap} mode tap",
        f"link set {tap} master bridge mtu {mtu(name)} addrgenmode none up",
        "link set bridge addrgenmode none up",
    ]
    with _refusals():
        _batch(["ip", "-n", name], lines)


def extend(overlay: Overlay, name: str, bridge: str) -> None:
    """Connect a bridge in the namespace `name` to the network, with an interface as its port.

    Errors: MissingError with the kernel's reason.
    """
    with _refusals():
        enter = _made(overlay, name, namespace.FOLDER / name)
        _batch([*enter, "ip"], [f"link set {INTERFACE} master {bridge}"])


def name_of(entry: Entry) -> str:
    """Name below /run/netns of the namespace that `for_guest` made."""
    return namespace.name_of(entry, "overlay")


def mtu(name: str) -> int:
    """Largest packet in bytes on the interface that was made in the namespace `name`."""
    shown = process.run(
        ["ip", "-n", name, "-json", "link", "show", INTERFACE], timeout_s=_TIME_LIMIT_S
    )
    return int(json.loads(shown.stdout)[0]["mtu"])


def frames(entry: Entry) -> socket.socket:
    """Open a packet(7) socket for the frames of the guest's interface that `for_guest` made."""
    with ThreadPoolExecutor(1) as thread:  # which alone enters the namespace
        return thread.submit(_opened, name_of(entry)).result()


def _opened(name: str) -> socket.socket:
    namespace.enter(name)
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    try:
        made.bind((INTERFACE, _ETH_P_ALL))
        _as_sent(made)
    except BaseException:
        made.close()
        raise
    return made


def _as_sent(wire: socket.socket) -> None:
    """Keep the kernel from merging received frames (GRO), which a guest would cut off."""
    off = array.array("I", [_ETHTOOL_SGRO, 0])
    request = struct.pack("16sP", INTERFACE.encode(), off.buffer_info()[0])
    fcntl.ioctl(wire, _SIOCETHTOOL, request.ljust(_IFREQ_BYTES, b"\0"))


def _made(overlay: Overlay, target: str, path: Path) -> tuple[str, ...]:
    """Make the interface in `target`; returns a prefix for commands to run in its namespace."""
    enter = ("nsenter", f"--net={path}")
    # With the device that leads there, frames are as long as it carries in one packet.
    device = _device_to(overlay.peers[0])
    tunnel = f"vxlan id {overlay.number} dstport {PORT} local {overlay.hosts[overlay.place]}"
    link = f"link add {INTERFACE} address {overlay.mac} netns {target}"
    _batch(["ip"], [f"{link} type {tunnel} dev {device}"])
    up = [f"link set {INTERFACE} addrgenmode none", f"link set {INTERFACE} up"]
    _batch([*enter, "ip"], up)
    peers = [f"fdb append {_EVERYBODY} dev {INTERFACE} dst {one}" for one in overlay.peers]
    _batch([*enter, "bridge"], peers)
    return enter


@contextmanager
def _refusals() -> Iterator[None]:
    """Within the block, turn what ip(8) or bridge(8) say into an error with a remedy."""
    try:
        yield
    except ProgramError as error:
        raise MissingError(
            f"instances on several hosts cannot be joined: {error.message}",
            remedy="it takes root there, the kernel's vxlan (modprobe vxlan), and UDP port "
            f"{PORT} for it alone",
        ) from None


def _device_to(address: str) -> str:
    """Interface of this host by which packets go to `address`. Errors: ProgramError."""
    shown = process.run(["ip", "-json", "route", "get", address], timeout_s=_TIME_LIMIT_S)
    return str(json.loads(shown.stdout)[0]["dev"])


def _batch(command: Sequence[str], lines: Sequence[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    process.run([*command, "-batch", "-"], input_text=text, timeout_s=_TIME_LIMIT_S)
