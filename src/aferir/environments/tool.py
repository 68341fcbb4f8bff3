"""Declares one kind of sandbox, mainly the command line that starts an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments import groups
from aferir.linux.journal import Entry
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

INSIDE = PurePosixPath("/.aferir-inside")
"""Path of the first program in an instance."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLES = (f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8")
"""Environment variables of programs in an instance of our userland."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Journal entry, specification and folders of one instance that is being made."""

    entry: Entry
    spec: EnvironmentSpec
    root: Path
    """Root of the instance, as the host sees it."""
    cpus: tuple[int, ...]
    program: Path
    """`aferir-inside` on the host; a layered instance has a copy at `INSIDE`."""
    tree: Path | None = None
    """Userland on which the command of an ordinary user mounts the layer itself; None for root."""
    disk: Path | None = None
    """Folder of its own disk; a layered instance has it mounted at `limited.DISK`."""

    @property
    def name(self) -> str:
        """Name of the instance and of its control groups."""
        return groups.name_of(self.entry)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of one kind of sandbox, all of which depend on its tool."""

    kind: str
    programs: tuple[str, ...]
    """Programs that the host must have."""
    version: tuple[str, ...]
    """Command whose first line of output is the tool's version."""
    command: Callable[[Place], Sequence[str]]
    """Command that starts an instance; its last words are the first program and that program's
    arguments.
    """
    check: Callable[[], list[Finding]] = list
    """Returns further findings on this machine; changes nothing."""
    ready: Callable[[EnvironmentSpec], None] = lambda _: None
    """Ensures that everything for an instance is present. Errors: MissingError."""
    layered: Callable[[EnvironmentSpec], bool] = lambda _: True
    """True if it starts from a private layer above our userland, mounted by aferir."""
    own_kernel: Callable[[EnvironmentSpec], bool] = lambda _: False
    """True if its programs do not use the host's kernel."""
    engine: bool = False
    """True if the tool keeps records of its instances, which could be corrupted by killing the
    tool. The tool is then no member of their control groups, but receives the groups' name. It may
    outlive aferir until it has cleaned up: an instance ends once the input of its first program is
    closed.
    """
    group: str = ""
    """Pattern of the name of the control group that an engine makes below the instance's; empty: it
    makes none.
    """
    details: Callable[[EnvironmentSpec], dict[str, str]] = lambda _: {}
    """Returns details that the journal entry must hold because `forget` needs them."""
    rootless: bool = False
    """True if users other than root can start it; if it is no engine, in a user namespace."""
    host_folders: bool = False
    """True if aferir must mount /dev, /proc and /sys in the root because the tool does not."""
    binds: bool = False
    """True if its command mounts the folders `layer.bound`, because it cannot start from a root in
    which something is mounted.
    """
    forget: Callable[[Entry, str], None] = lambda *_: None
    """Removes the tool's processes and records of an instance, by its name."""
