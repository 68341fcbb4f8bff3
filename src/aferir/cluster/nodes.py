"""The Protocol of backends for nodes, and what all kinds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from aferir.cluster.description import FRONT, Description, Node
from aferir.cluster.workshop import Workshop
from aferir.linux import journal, process, umask
from aferir.model.finding import Finding


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Resources of a cluster that its nodes use."""

    description: Description
    folder: Path
    """Folder of the cluster, see `storing`."""
    image: Path
    """Folder of the userland: see `image.userland`."""
    network: journal.Entry
    mtu: int = 1500
    """Largest packet in bytes that can be sent between nodes."""


class Nodes(Protocol):
    """Backend for one kind of nodes; `start` and `wait` are separate, so that all boot at once."""

    own_kernel: bool
    """Whether nodes have a kernel of their own, or else consist of processes of the host."""
    kept_bytes: int
    """Approximate bytes of a node's memory that its own kernel and userland use."""

    def check(self) -> list[Finding]:
        """Findings on what this machine lacks for nodes of this kind; changes nothing."""
        ...

    def announce(self, place: Place) -> journal.Entry:
        """Announce in the journal that a node is about to be created."""
        ...

    def start(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Start a node, which outlives this process. Errors: ProgramError if it does not start."""
        ...

    def wait(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Wait until a node is ready for MPI. Errors: ProgramError if it does not become ready."""
        ...

    def process(self, entry: journal.Entry) -> int | None:
        """ID of the host process that lives as long as the node; None if the node does not run."""
        ...

    def pin(self, entry: journal.Entry, cpus: Sequence[int]) -> None:
        """Restrict the node, from now on, to the host's CPUs `cpus`."""
        ...

    def enter(
        self, place: Place, node: Node, command: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """Command line that runs `command` inside, as root, with this process's streams."""
        ...

    def pause(self, entry: journal.Entry, *, paused: bool) -> None:
        """Suspend or resume everything on the node."""
        ...

    def save_disk(self, place: Place, node: Node, shop: Workshop, target: Path) -> int:
        """Write the disk of a paused node as a VMDK; returns its size for a guest in bytes."""
        ...

    def give_back(self, entry: journal.Entry) -> None:
        """Remove the node, or what exists of it, but not a disk that must be kept."""
        ...


def keeps_disk(description: Description, node: Node) -> bool:
    """Whether what the node writes survives a restart; for the front end it always does."""
    return node.name == FRONT or description.boot == "disk"


def boots_from_network(description: Description, node: Node) -> bool:
    """Whether the node's firmware gets everything from the front end."""
    return node.name != FRONT and description.boot == "pxe"


def in_turn(description: Description, numbers: Sequence[int]) -> list[Sequence[int]]:
    """Numbers of nodes in groups that start one after another, each at once.

    A front end that others boot from is first: their firmware would give up, and begin again.
    """
    if description.boot == "pxe" and len(numbers) > 1 and numbers[0] == 0:
        return [numbers[:1], numbers[1:]]
    return [numbers]


def make_folders(place: Place, node: Node, folder: Path) -> Path:
    """Create the node's `folder`, and the folder that it writes to; returns the second."""
    umask.everybody_reads()
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    disk = disk_folder(place, node, folder)
    disk.mkdir(parents=True, exist_ok=True)
    if not keeps_disk(place.description, node):
        mount_ram(disk, place.description.memory_bytes)
    return disk


def disk_folder(place: Place, node: Node, folder: Path) -> Path:
    """Folder that the node writes to; in RAM below `folder` if the node is diskless."""
    if keeps_disk(place.description, node):
        return place.folder / "disks" / node.name
    return folder / "disk"


def image_of(place: Place, node: Node) -> Path:
    """Folder of a node's userland: its own if its disk was saved and loaded, else the cluster's."""
    own = place.image / node.name
    return own if own.is_dir() else place.image


def mount_ram(folder: Path, size_bytes: int) -> None:
    """Mount a tmpfs; a container's data there count as its memory, and are lost with the folder."""
    options = f"size={size_bytes},mode=755"
    process.run(["mount", "-t", "tmpfs", "-o", options, "aferir", str(folder)], timeout_s=30)
