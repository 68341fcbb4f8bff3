"""OCI runtimes, which start a container for an engine."""

from __future__ import annotations

from pathlib import Path

from aferir.environments.oci import command_line
from aferir.environments.oci.spec import KIND
from aferir.linux import cgroup
from aferir.machine import packages
from aferir.model.finding import Finding

KNOWN = ("runc", "crun", "runsc", "kata-runtime")


def findings() -> list[Finding]:
    """Findings about each known runtime; none of them is required."""
    found = []
    for name in KNOWN:
        if packages.missing([name]):
            said = f"{name} is not installed"
            found.append(Finding(f"{KIND} {name}", "degraded", said, how_to_get(name)))
        elif why := refusal(name, cgroup.layout()):
            found.append(Finding(f"{KIND} {name}", "degraded", why, 'runtime = "runc"'))
        else:
            kernel = ", a kernel of its own" if command_line.has_own_kernel(name) else ""
            found.append(Finding(f"{KIND} {name}", "ok", f"OCI runtime{kernel}"))
    return found


def how_to_get(runtime: str) -> str:
    """Command that installs a runtime, or where to find it."""
    if runtime.startswith("kata"):
        return "install Kata Containers from its releases: Debian and Ubuntu have no package of it"
    return packages.install_command([runtime])


def refusal(runtime: str, have: cgroup.Layout) -> str:
    """Reason why an installed runtime cannot start here; empty if it can.

    crun refuses controllers of version 1 beside a hierarchy of version 2 (cgroup.c,
    CGROUP_MODE_HYBRID).
    """
    if Path(runtime).name == "crun" and have.v1 and have.v2 is not None:
        return "crun refuses hybrid control groups, versions 1 and 2 beside each other, as here"
    return ""
