"""Files of an instance: a private layer above the userland, and the log of its tool."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from aferir.environments import groups, rooted
from aferir.environments.limited import DISK
from aferir.environments.tool import INSIDE, Place
from aferir.errors import MissingError
from aferir.linux import mounts, umask
from aferir.linux.journal import Entry

_VOLUME = "volume"
"""Name of the folder of an instance's volume, beside its root."""


def folder_of(entry: Entry) -> Path:
    """Folder of an instance's files."""
    return Path(entry.details["instances"]) / groups.name_of(entry)


def root_of(entry: Entry) -> Path:
    """Root of an instance, as the host sees it."""
    return folder_of(entry) / "root"


def said_by(entry: Entry) -> Path:
    """Log file of the instance's tool."""
    return folder_of(entry) / "said"


def bound(place: Place, volume: str) -> Sequence[tuple[Path, PurePosixPath]]:
    """Return the host's folders that an instance has, with their paths inside: volume and disk."""
    found = [(folder_of(place.entry) / _VOLUME, PurePosixPath(volume))] if volume else []
    return found if place.disk is None else [*found, (place.disk, DISK)]


def make(
    place: Place, tree: Path | None, *, host_folders: bool, binds: bool = False, volume: str = ""
) -> None:
    """Make the folder of an instance, with a private layer above `tree` if there is one.

    With `host_folders`, /proc, /dev and /sys of the host are mounted in it. At the path `volume`,
    if there is one, it has an ordinary folder instead of the overlay. With `binds` the folders
    `bound` are not mounted, but have empty ones to be mounted on. Errors: MissingError if something
    cannot be mounted.
    """
    folder = folder_of(place.entry)
    umask.everybody_reads()
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o700)
    place.root.chmod(0o755)
    if tree is None:
        return
    shutil.copy(place.program, folder / "upper" / INSIDE.name)
    try:
        mounts.overlay(tree, folder / "upper", folder / "work", place.root)
        if host_folders:
            mounts.fresh("proc", place.root / "proc")
            for name in ("dev", "sys"):
                mounts.bind(Path("/", name), place.root / name)
        if volume:
            own_folder(folder)
        for source, inside in bound(place, volume):
            at = rooted.made(place.root, inside)
            if not binds:
                mounts.bind(source, at)
    except OSError as error:
        raise MissingError(
            f"the files of environment `{place.spec.name}` cannot be mounted: {error}",
            remedy="an overlay takes a kernel with CONFIG_OVERLAY_FS, and a state folder "
            "(AFERIR_STATE) that is not on an overlay itself",
        ) from None


def own_folder(folder: Path) -> Path:
    """Empty, world-writable folder beside an instance's root, for a volume."""
    made = folder / _VOLUME
    made.mkdir()
    made.chmod(0o1777)
    return made
