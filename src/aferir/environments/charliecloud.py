"""Containers by ch-run(1) of Charliecloud, as high-performance computing uses them."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """A user and a mount namespace; the network and /dev, /proc, /sys, /tmp are the host's.

    It takes the user's name from the variable USER, and ends where there is none.
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
    )
)
