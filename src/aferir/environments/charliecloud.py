"""Containers by Charliecloud's ch-run(1), as used in high-performance computing."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """Command with a user and a mount namespace; network, /dev, /proc, /sys are the host's.

    ch-run reads the user's name from the variable USER, and fails without it.
    """
    return [
        *("env", "USER=root", "ch-run", "--write", "--no-home", "--private-tmp"),
        *("--unset-env=*", "--uid=0", "--gid=0"),
        *(str(place.root), "--", str(INSIDE), *VARIABLES),
    ]


CHARLIECLOUD = kind(
    Tool(
        kind="charliecloud",
        programs=("ch-run",),
        version=("env", "USER=root", "ch-run", "--version"),
        command=command,
        rootless=True,
    )
)
