"""Networks of several hosts on one machine: namespaces joined by a veth pair, or by a bridge.

All of them read one clock, so what is measured between them has a known truth. Nothing of it shows
in the host's own network: interfaces are made inside the namespaces and go with them.
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
"""Where ip-netns(8) keeps names."""
_TIME_LIMIT_S = 20.0
_INTERFACE = "eth0"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Pair(msgspec.Struct, frozen=True):
    """The two ends, by their names below /run/netns, and what they are called there."""

    server: str
    client: str
    server_address: str
    client_address: str
    interface: str
    folder: Path
    """Folder for files of what runs inside; removed with the pair."""
    mark: str
    """A word to be put into the environment of children inside, as `undo.MARK`: ended with the
    pair."""


class Host(msgspec.Struct, frozen=True):
    """One host of a star."""

    name: str
    """Below /run/netns."""
    address: str


class Star(msgspec.Struct, frozen=True):
    """Hosts that all hang on one bridge, which has a namespace of its own."""

    hosts: tuple[Host, ...]
    bridge: str
    interface: str
    folder: Path
    """Folder for files of what runs inside; removed with the star."""
    mark: str
    """As that of a pair."""


@contextmanager
def star(hosts: int) -> Iterator[Star]:
    """Make that many hosts on a bridge, and remove them whatever happens. Needs root.

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
    """What makes the star, one command after the other."""
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
    """Make the pair, and remove it whatever happens; journalled first. Needs root.

    Errors: MissingError without ip(8), ProgramError where the kernel refuses (ip's words).
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
    """What makes the pair, one command after the other."""
    ends = ((pair.server, pair.server_address), (pair.client, pair.client_address))
    made = [["ip", "netns", "add", name] for name, _ in ends]
    # Both ends are born where they belong; a moved one would show on the host for a moment.
    veth = ["ip", "link", "add", _INTERFACE, "netns", pair.server, "type", "veth"]
    made.append([*veth, "peer", "name", _INTERFACE, "netns", pair.client])
    for name, address in ends:
        inside = ["ip", "-n", name]
        made.append([*inside, "address", "add", f"{address}/30", "dev", _INTERFACE])
        # No IPv6 of its own accord: its solicitations would come between the datagrams.
        made.append([*inside, "link", "set", _INTERFACE, "addrgenmode", "none", "up"])
        made.append([*inside, "link", "set", "lo", "up"])
    return made


def enter(name: str) -> None:
    """Move the calling thread, and those that it starts from now on, into a namespace.

    Errors: OSError where there is none, or this user may not (setns(2)).
    """
    with (FOLDER / name).open("rb") as place:
        if _libc.setns(place.fileno(), _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)


def give_back(entry: Entry) -> None:
    """End what runs inside, remove the names, and with them namespaces and interfaces.

    Repeating it is harmless, and so is an entry of which nothing, or only half, was made.
    """
    undo.kill_marked(entry.id)
    # Those of containers that have joined the namespaces are called like these.
    cgroup.remove(name_of(entry, "").rstrip("-"), cgroup.layout())
    undo.remove_tree(folder_of(entry))
    for path in sorted(FOLDER.glob(name_of(entry, "*"))):
        undo.unmount(path)
        path.unlink(missing_ok=True)
    journal.erase(entry)


def name_of(entry: Entry, end: str) -> str:
    """What a namespace of that entry is called below /run/netns."""
    return f"aferir-{entry.id}-{end}"


def folder_of(entry: Entry) -> Path:
    """The folder for files of what runs inside."""
    return journal.state_folder() / "namespaces" / f"aferir-{entry.id}"
