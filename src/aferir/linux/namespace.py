"""Networks of several hosts on one machine: namespaces joined by a veth pair, or by a bridge.

All of them read the same clock, so the truth of what is measured between them is known. The host's
own network is not affected: interfaces are made inside the namespaces and removed with them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.linux import cgroup, journal, process, undo
from aferir.linux.journal import Entry

KIND = "namespace"
FOLDER = Path("/run/netns")
"""Folder in which ip-netns(8) keeps the names of namespaces."""
_TIME_LIMIT_S = 60.0
_INTERFACE = "eth0"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Pair(msgspec.Struct, frozen=True):
    """Two namespaces, by their names below /run/netns, with addresses and interface."""

    server: str
    client: str
    server_address: str
    client_address: str
    interface: str
    folder: Path
    """Folder for files of programs inside; removed with the pair."""
    mark: str
    """Value of `undo.MARK` for processes inside, which are killed when the pair is removed."""


class Host(msgspec.Struct, frozen=True):
    """One host of a star of namespaces."""

    name: str
    """Name of the namespace below /run/netns."""
    address: str


class Star(msgspec.Struct, frozen=True):
    """Hosts (namespaces) connected by one bridge, which is in a namespace of its own."""

    hosts: tuple[Host, ...]
    bridge: str
    interface: str
    folder: Path
    """Folder for files of programs inside; removed with the star."""
    mark: str
    """Value of `undo.MARK` for processes inside, as for a pair."""


@contextmanager
def star(hosts: int) -> Iterator[Star]:
    """Make `hosts` hosts on one bridge, and always remove them afterwards. Requires root.

    Errors: as `veth_pair`.
    """
    entry = journal.write(KIND, {})
    try:
        made = Star(
            hosts=tuple(Host(name_of(entry, f"{k}"), f"10.0.1.{k}") for k in range(1, hosts + 1)),
            bridge=name_of(entry, "bridge"),
            interface=_INTERFACE,
            folder=folder_of(entry),
            mark=entry.id,
        )
        made.folder.mkdir(parents=True)
        for command in star_commands(made):
            process.run(command, timeout_s=_TIME_LIMIT_S)
        yield made
    finally:
        give_back(entry)


def star_commands(made: Star) -> list[list[str]]:
    """Commands that make the star, in order."""
    bridge = ["ip", "-n", made.bridge]
    commands = [
        ["ip", "netns", "add", made.bridge],
        [*bridge, "link", "add", "bridge", "type", "bridge"],
        [*bridge, "link", "set", "bridge", "addrgenmode", "none", "up"],
    ]
    for k, host in enumerate(made.hosts):
        veth = ["ip", "link", "add", _INTERFACE, "netns", host.name, "type", "veth"]
        inside = ["ip", "-n", host.name]
        commands += [
            ["ip", "netns", "add", host.name],
            [*veth, "peer", "name", f"port{k}", "netns", made.bridge],
            [*bridge, "link", "set", f"port{k}", "master", "bridge", "addrgenmode", "none", "up"],
            [*inside, "address", "add", f"{host.address}/24", "dev", _INTERFACE],
            [*inside, "link", "set", _INTERFACE, "addrgenmode", "none", "up"],
            [*inside, "link", "set", "lo", "up"],
        ]
    return commands


@contextmanager
def veth_pair() -> Iterator[Pair]:
    """Make the pair, and always remove it afterwards; journalled first. Requires root.

    Errors: MissingError without ip(8), ProgramError if the kernel refuses (message of ip).
    """
    entry = journal.write(KIND, {})
    try:
        pair = Pair(
            server=name_of(entry, "server"),
            client=name_of(entry, "client"),
            server_address="10.0.0.1",
            client_address="10.0.0.2",
            interface=_INTERFACE,
            folder=folder_of(entry),
            mark=entry.id,
        )
        pair.folder.mkdir(parents=True)
        for command in commands(pair):
            process.run(command, timeout_s=_TIME_LIMIT_S)
        yield pair
    finally:
        give_back(entry)


def commands(pair: Pair) -> list[list[str]]:
    """Commands that make the pair, in order."""
    ends = ((pair.server, pair.server_address), (pair.client, pair.client_address))
    made = [["ip", "netns", "add", name] for name, _ in ends]
    # Both ends are created in their namespaces; a moved one would appear on the host first.
    veth = ["ip", "link", "add", _INTERFACE, "netns", pair.server, "type", "veth"]
    made.append([*veth, "peer", "name", _INTERFACE, "netns", pair.client])
    for name, address in ends:
        inside = ["ip", "-n", name]
        made.append([*inside, "address", "add", f"{address}/30", "dev", _INTERFACE])
        # No automatic IPv6 address: its solicitations would disturb the measured datagrams.
        made.append([*inside, "link", "set", _INTERFACE, "addrgenmode", "none", "up"])
        made.append([*inside, "link", "set", "lo", "up"])
    return made


def enter(name: str) -> None:
    """Move the calling thread, and threads that it starts later, into a namespace.

    Errors: OSError if it does not exist, or this user may not enter it (setns(2)).
    """
    with (FOLDER / name).open("rb") as place:
        if _libc.setns(place.fileno(), _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)


def give_back(entry: Entry) -> None:
    """Kill the processes inside, remove the names, and so the namespaces and interfaces.

    It may be repeated, and handles entries of which nothing or only a part was made.
    """
    undo.kill_marked(entry.id)
    # Control groups of containers that joined the namespaces have the same prefix.
    cgroup.remove(name_of(entry, "").rstrip("-"), cgroup.layout())
    undo.remove_tree(folder_of(entry))
    for path in sorted(FOLDER.glob(name_of(entry, "*"))):
        undo.unmount(path)
        path.unlink(missing_ok=True)
    journal.erase(entry)


def name_of(entry: Entry, end: str) -> str:
    """Name of a namespace of a journal entry, below /run/netns."""
    return f"aferir-{entry.id}-{end}"


def folder_of(entry: Entry) -> Path:
    """Folder for files of the processes inside."""
    return journal.state_folder() / "namespaces" / f"aferir-{entry.id}"
