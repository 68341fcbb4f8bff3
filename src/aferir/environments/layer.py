"""The files of an instance: a private layer above the userland, and what its tool says."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

from aferir.environments import groups, rooted
from aferir.environments.limited import DISK
from aferir.environments.tool import INSIDE, Place
from aferir.errors import MissingError
from aferir.linux import mounts, umask
from aferir.linux.journal import Entry


def folder_of(entry: Entry) -> Path:
    """Where an instance keeps its files."""
    return Path(entry.details["instances"]) / groups.name_of(entry)


def root_of(entry: Entry) -> Path:
    """Its root, as the host sees it."""
    return folder_of(entry) / "root"


def said_by(entry: Entry) -> Path:
    """The file of what its tool says."""
    return folder_of(entry) / "said"


def make(place: Place, tree: Path | None, *, host_folders: bool, volume: str = "") -> None:
    """The folder of an instance, and where it has a `tree` its private layer above that.

    With `host_folders` /proc, /dev and /sys of the host are seen in it; at `volume` it has a folder
    that is no overlay, if it is not the tool that makes one.
    Errors: MissingError where they cannot be mounted.
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
            mounts.bind(own_folder(folder), rooted.made(place.root, PurePosixPath(volume)))
        if place.disk is not None:
            at = place.root / DISK.relative_to("/")
            at.mkdir(parents=True)
            mounts.bind(place.disk, at)
    except OSError as error:
        raise MissingError(
            f"the files of environment `{place.spec.name}` cannot be mounted: {error}",
            remedy="an overlay takes a kernel with CONFIG_OVERLAY_FS, and a state folder "
            "(AFERIR_STATE) that is not on an overlay itself",
        ) from None


def own_folder(folder: Path) -> Path:
    """An empty folder beside an instance's root for a volume, which anybody may write to."""
    made = folder / "volume"
    made.mkdir()
    made.chmod(0o1777)
    return made
