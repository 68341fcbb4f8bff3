"""Another root folder by chroot(8), with the host's processes and network."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """Command that starts the instance. Source: chroot(1)."""
    return ["chroot", str(place.root), str(INSIDE), *VARIABLES]


CHROOT = kind(
    Tool(
        kind="chroot",
        programs=("chroot",),
        version=("chroot", "--version"),
        command=command,
        host_folders=True,
        rootless=True,
    )
)
