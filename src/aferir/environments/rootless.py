"""Instances of an ordinary user: their layer is mounted in a user namespace, without limits.

Root in the namespace is the ordinary user outside of it, so the userland must belong to that user.
An overlay in a user namespace needs Linux 5.11, and the option `userxattr`
(filesystems/overlayfs.rst). Control groups are root's, so an instance has no limits and no accounts
of its own, and is not frozen while it waits: between two commands only its first program is left,
which waits for the next.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from aferir.environments.limited import DiskSpec, LayeredSpec
from aferir.environments.tool import INSIDE, Place
from aferir.errors import MissingError
from aferir.linux import mounts
from aferir.model.plan import EnvironmentSpec

_AS_ROOT = ("unshare", "--user", "--map-root-user", "--mount", "--")
_LAYER = """mount -t overlay -o "$1" overlay "$2" || exit
for name in $3; do mount --rbind "/$name" "$2/$name" || exit; done
shift 3
exec "$@"
"""
"""Script; arguments: options of the overlay, its root, host folders to bind there, a command."""
_HOST_FOLDERS = "dev proc sys"


def refuse(spec: EnvironmentSpec) -> None:
    """Raise MissingError for keys that take effect only as root: none is silently ignored."""
    wanted = {
        "cpu_quota": spec.cpu_quota is not None,
        "merge_pages": spec.merge_pages,
        "disk": isinstance(spec, DiskSpec) and spec.disk_bytes is not None,
        "volume": isinstance(spec, LayeredSpec) and bool(spec.volume),
    }
    if found := [f"`{key}`" for key, is_wanted in wanted.items() if is_wanted]:
        raise MissingError(
            f"environment `{spec.name}`: {', '.join(found)} takes root",
            remedy=f"run as root: sudo aferir ..., or remove {', '.join(found)}",
        )


def within(place: Place, command: Sequence[str], *, host_folders: bool) -> list[str]:
    """Command that mounts the layer of an instance in a new user namespace, and runs `command`.

    With `host_folders` /dev, /proc and /sys of the host are mounted in its root.
    """
    assert place.tree is not None
    folder = place.root.parent
    shutil.copy(place.program, folder / "upper" / INSIDE.name)
    options = mounts.overlay_options(place.tree, folder / "upper", folder / "work")
    words = (f"userxattr,{options}", str(place.root), _HOST_FOLDERS if host_folders else "")
    return [*_AS_ROOT, "sh", "-c", _LAYER, "sh", *words, *command]
