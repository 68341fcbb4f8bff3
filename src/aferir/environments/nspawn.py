"""Containers by systemd-nspawn(1), with its default capabilities and system-call filter."""

from __future__ import annotations

from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool


def command(place: Place) -> list[str]:
    """Command without a service manager inside or outside, with its own network.

    `--keep-unit` leaves it in the control groups in which it is started.
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
