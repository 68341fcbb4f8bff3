"""The Protocol of what nodes are made of, and what all kinds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from aferir.cluster.description import Description, Node
from aferir.cluster.workshop import Workshop
from aferir.linux import journal, process, umask
from aferir.model.finding import Finding


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node is to run."""

    description: Description
    folder: Path
    """Folder of the cluster, see `storing`."""
    image: Path
    """Folder of the userland: see `image.userland`."""
    network: journal.Entry


class Nodes(Protocol):
    """Makes nodes of one kind. Started in one call and waited for in another, all boot at once."""

    own_kernel: bool
    """Whether a node has one; else it is processes of the host's."""
    kept_bytes: int
    """What a kernel of its own and its user land keep of a node's memory, about."""

    def check(self) -> list[Finding]:
        """What this machine lacks for them. Changes nothing."""
        ...

    def announce(self, place: Place) -> journal.Entry:
        """Write into the journal that a node is about to be made."""
        ...

    def start(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Start it; it outlives us. Errors: ProgramError where it does not start."""
        ...

    def wait(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Wait until it is ready for MPI. Errors: ProgramError where it never is."""
        ...

    def process(self, entry: journal.Entry) -> int | None:
        """The process on the host that lives as long as the node; None where it does not run."""
        ...

    def pin(self, entry: journal.Entry, cpus: Sequence[int]) -> None:
        """Let it run on those CPUs of the host alone, from now on."""
        ...

    def enter(
        self, place: Place, node: Node, command: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """The command that runs `command` inside, as root, with our own standard streams."""
        ...

    def pause(self, entry: journal.Entry, *, paused: bool) -> None:
        """Let nothing run on it, or let it go on."""
        ...

    def save_disk(self, place: Place, node: Node, shop: Workshop, target: Path) -> int:
        """Write the disk of a paused node as a VMDK; its size in bytes as a guest sees it."""
        ...

    def give_back(self, entry: journal.Entry) -> None:
        """Remove it, however much of it there is, but not the disk that it keeps."""
        ...


def keeps_disk(description: Description, node: Node) -> bool:
    """Whether what the node writes stays when it is started again: the front end's always does."""
    return node.name == "front" or description.boot == "disk"


def make_folders(place: Place, node: Node, folder: Path) -> Path:
    """Make `folder` for what goes with the node, and the folder that it writes to, its answer."""
    umask.everybody_reads()
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    disk = disk_folder(place, node, folder)
    disk.mkdir(parents=True, exist_ok=True)
    if not keeps_disk(place.description, node):
        mount_ram(disk, place.description.memory_bytes)
    return disk


def disk_folder(place: Place, node: Node, folder: Path) -> Path:
    """Where it writes to; below `folder`, its own, in RAM, where it keeps nothing."""
    if keeps_disk(place.description, node):
        return place.folder / "disks" / node.name
    return folder / "disk"


def image_of(place: Place, node: Node) -> Path:
    """What it starts from: in a loaded cluster, a node that kept its disk has its own."""
    own = place.image / node.name
    return own if own.is_dir() else place.image


def mount_ram(folder: Path, size_bytes: int) -> None:
    """A tmpfs: what a container writes there counts as its own memory. It goes with the folder."""
    options = f"size={size_bytes},mode=755"
    process.run(["mount", "-t", "tmpfs", "-o", options, "aferir", str(folder)], timeout_s=30)
