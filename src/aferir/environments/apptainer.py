"""Containers by Apptainer, as run on clusters of high-performance computing."""

from __future__ import annotations

from aferir.environments import layer
from aferir.environments.limited import LayeredSpec
from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool

_LEFT_OUT = "home,cwd,tmp,hostfs,bind-paths"
"""Folders of the host that Apptainer mounts by default, and the other kinds do not have."""


def command(place: Place) -> list[str]:
    """Command with a user and a mount namespace; network, /dev, /proc, /sys are the host's.

    Root has a user namespace too: without one Apptainer asks for all capabilities of the kernel,
    and fails where root lacks one, as in a container. In it the kernel refuses to bind a root below
    which something is mounted, so Apptainer mounts volume and disk itself. Sources:
    apptainer-exec(1), mount_namespaces(7).
    """
    volume = place.spec.volume if isinstance(place.spec, LayeredSpec) else ""
    return [
        *("apptainer", "--silent", "exec", "--writable", "--userns"),
        *("--cleanenv", "--no-home", "--no-mount", _LEFT_OUT, "--pwd", "/"),
        *(f'--mount="source={a}","destination={b}"' for a, b in layer.bound(place, volume)),
        *(str(place.root), str(INSIDE), *VARIABLES),
    ]


APPTAINER = kind(
    Tool(
        kind="apptainer",
        programs=("apptainer",),
        version=("apptainer", "--version"),
        command=command,
        rootless=True,
        binds=True,
    )
)
