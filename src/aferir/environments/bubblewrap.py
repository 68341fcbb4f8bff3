"""Sandboxes by bwrap(1), as Flatpak makes them: with all namespaces, and without a daemon."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """Command with all namespaces, its own /dev and /proc, and none of the host's variables."""
    return [
        *("bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent", "--clearenv"),
        *("--bind", str(place.root), "/", "--proc", "/proc", "--dev", "/dev"),
        *("--ro-bind", "/sys", "/sys", "--hostname", "aferir"),
        *(str(INSIDE), *VARIABLES),
    ]


BUBBLEWRAP = kind(
    Tool(
        kind="bubblewrap",
        programs=("bwrap",),
        version=("bwrap", "--version"),
        command=command,
        rootless=True,
    )
)
