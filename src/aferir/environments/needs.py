"""Checks the requirements of environments whose instances are groups of host processes."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.image import userland
from aferir.linux import cgroup
from aferir.machine import packages, privileges
from aferir.model.finding import Finding


def lacking(
    kind: str,
    purpose: str,
    programs: Sequence[str],
    controllers: Sequence[str],
    *,
    rootless: bool = False,
) -> list[Finding]:
    """First requirement that is missing: root, programs, control groups or an image.

    Starts no program. `purpose` says what requires root; with `rootless` an ordinary user needs a
    user namespace instead, and no control groups.
    """
    if not privileges.is_root():
        said = ""
        if not rootless:
            said = f"only root may {purpose}"
        elif not privileges.user_namespaces():
            said = "ordinary users get no user namespace here"
        if said:
            return [Finding(kind, "missing", said, privileges.as_root_command())]
        controllers = ()
    if absent := packages.missing(programs):
        said = f"not installed: {', '.join(absent)}"
        return [Finding(kind, "missing", said, packages.install_command(absent))]
    have = cgroup.layout()
    if absent := [name for name in controllers if not have.has(name)]:
        said = f"no control groups with the controllers {', '.join(absent)}"
        return [Finding(kind, "missing", said, "mount -t cgroup2 none /sys/fs/cgroup")]
    return [Finding(kind, f.status, f.message, f.remedy) for f in userland.check()]
