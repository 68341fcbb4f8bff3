"""What one kind of sandbox has of its own: above all a command line that starts an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments import groups
from aferir.linux.journal import Entry
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

INSIDE = PurePosixPath("/.aferir-inside")
"""Where the first program is in an instance."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLES = (f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8")
"""Variables of the programs in an instance that starts from our userland."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What one instance is made in."""

    entry: Entry
    spec: EnvironmentSpec
    root: Path
    """Its root, as the host sees it."""
    cpus: tuple[int, ...]
    program: Path
    """`aferir-inside` on the host; in a layered instance it is at `INSIDE` already."""
    disk: Path | None = None
    """Folder of a disk of its own; in a layered instance it is at `limited.DISK` already."""

    @property
    def name(self) -> str:
        """Name of the instance and of its control groups."""
        return groups.name_of(self.entry)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Whatever one kind of sandbox has of its own."""

    kind: str
    programs: tuple[str, ...]
    """Programs of the host that it needs."""
    version: tuple[str, ...]
    """A command line; the first line that it prints tells the tool's version."""
    command: Callable[[Place], Sequence[str]]
    """Starts an instance; it ends with the program in there and its arguments."""
    check: Callable[[], list[Finding]] = list
    """What else is to be said of it on this machine; changes nothing."""
    ready: Callable[[EnvironmentSpec], None] = lambda _: None
    """Sees that everything is there for an instance. Errors: MissingError."""
    layered: Callable[[EnvironmentSpec], bool] = lambda _: True
    """Whether it starts from a private layer above our userland, made and mounted here."""
    own_kernel: Callable[[EnvironmentSpec], bool] = lambda _: False
    """Whether its programs have a kernel that is not the host's."""
    engine: bool = False
    """Whether it keeps records of its instances, so that it is not to be killed within a step of
    its own. It is no member of their groups then, but is told their name, and it outlives us by as
    long as it takes to undo what it has begun: an instance ends once nobody talks to it."""
    group: str = ""
    """Pattern of the name of the group that an engine makes below the one it is told."""
    details: Callable[[EnvironmentSpec], dict[str, str]] = lambda _: {}
    """What `forget` has to know, for the journal's entry."""
    host_folders: bool = False
    """Whether /dev, /proc and /sys are to be mounted in the root, as the tool does not."""
    forget: Callable[[Entry, str], None] = lambda *_: None
    """Removes what the tool itself still runs or has written down for an instance of that name."""
