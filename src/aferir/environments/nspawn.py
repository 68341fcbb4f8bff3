"""Containers by systemd-nspawn(1), with the capabilities and system calls that it leaves them."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """Without a service manager on either side, and with a network of its own.

    `--keep-unit`: it stays in the control groups that it is started in.
    """
    return [
        *("systemd-nspawn", "--quiet", "--pipe", "--register=no", "--keep-unit"),
        *("--settings=no", "--private-network", "--resolv-conf=off", "--timezone=off"),
        *("--link-journal=no", f"--machine={place.name}", f"--directory={place.root}"),
        *("--", str(INSIDE), *VARIABLES),
    ]


NSPAWN = kind(
    Tool(
        kind="nspawn",
        programs=("systemd-nspawn",),
        version=("systemd-nspawn", "--version"),
        command=command,
    )
)
