"""Containers by Podman with any OCI runtime, of any image or of our own userland."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

from aferir.environments.oci import command_line
from aferir.environments.oci.spec import OciSpec
from aferir.environments.sandbox import kind
from aferir.environments.tool import INSIDE, VARIABLES, Place, Tool
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.linux import cgroup, process, undo
from aferir.linux.journal import Entry
from aferir.machine import packages
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

KIND = "oci"
_RUNTIMES = ("runc", "crun", "runsc", "kata-runtime")
_PULL_S, _ASK_S = 900.0, 60.0


def of(spec: EnvironmentSpec) -> OciSpec:
    """The keys of a container, which any other specification has as their defaults."""
    if isinstance(spec, OciSpec):
        return spec
    known = {name: getattr(spec, name) for name in EnvironmentSpec.__struct_fields__}
    return OciSpec(**known)


def runtimes() -> list[Finding]:
    """What can be said of each runtime that is known here; none of them is needed."""
    found = []
    for name in _RUNTIMES:
        if packages.missing([name]):
            remedy = packages.install_command([name])
            found.append(Finding(f"{KIND} {name}", "degraded", f"{name} is not installed", remedy))
        elif why := refusal(name, cgroup.layout()):
            found.append(Finding(f"{KIND} {name}", "degraded", why, 'runtime = "runc"'))
        else:
            kernel = ", a kernel of its own" if command_line.has_own_kernel(name) else ""
            found.append(Finding(f"{KIND} {name}", "ok", f"OCI runtime{kernel}"))
    return found


def refusal(runtime: str, have: cgroup.Layout) -> str:
    """Why a runtime that is installed starts nothing on this host; empty where it does.

    crun takes no controllers of version 1 beside a hierarchy of version 2 (cgroup.c, CGROUP_MODE_
    HYBRID).
    """
    if Path(runtime).name == "crun" and have.v1 and have.v2 is not None:
        return "crun refuses hybrid control groups, versions 1 and 2 beside each other, as here"
    return ""


def ready(spec: EnvironmentSpec) -> None:
    """See that the runtime and the image are there. Errors: MissingError."""
    own = of(spec)
    if packages.missing([own.runtime]):
        remedy = f"name the path of a program, or one of {', '.join(_RUNTIMES)}"
        if own.runtime in _RUNTIMES:
            remedy = packages.install_command([own.runtime])
        raise MissingError(
            f"environment `{spec.name}` asks for the OCI runtime `{own.runtime}`: it is not here",
            remedy=remedy,
        )
    if why := refusal(own.runtime, cgroup.layout()):
        raise MissingError(f"environment `{spec.name}`: {why}", remedy='runtime = "runc"')
    if own.image:
        _pull(own)


def _pull(own: OciSpec) -> None:
    exists = process.run(["podman", "image", "exists", own.image], timeout_s=_ASK_S, check=False)
    if exists.exit_code == 0:
        return
    try:
        process.run(["podman", "pull", "--quiet", own.image], timeout_s=_PULL_S)
    except ProgramError as error:
        raise MissingError(
            f"the image `{own.image}` of environment `{own.name}` cannot be pulled: "
            f"{error.message}",
            remedy="see whether `podman pull` gets it; its full name begins with its registry",
        ) from None


def command(place: Place) -> list[str]:
    """Podman in the foreground."""
    files = place.root.parent / "volume"
    files.mkdir()
    files.chmod(0o1777)
    return command_line.run(
        of(place.spec),
        name=place.name,
        mark=f"{undo.MARK}={place.entry.id}",
        limits=(_most(resource.RLIMIT_NOFILE), _most(resource.RLIMIT_NPROC)),
        program=place.program,
        inside=INSIDE,
        root=place.root,
        files=files,
        disk=place.disk,
        variables=VARIABLES,
    )


def forget(entry: Entry, name: str) -> None:
    """End the engine's monitor of a container, and remove the engine's record of it.

    Errors: OSError where it stays.
    """
    undo.kill(lambda arguments, _: name in arguments)
    if shutil.which("podman") is None:
        return
    try:
        process.run(command_line.remove(name), timeout_s=_ASK_S)
    except AferirError as error:
        raise OSError(f"the container of {entry.id} stays: {error.message}") from None


def _most(limit: int) -> int:
    """This process's own hard limit (getrlimit(2))."""
    most = resource.getrlimit(limit)[1]
    return 2**62 if most == resource.RLIM_INFINITY else most


OCI = kind(
    Tool(
        kind=KIND,
        programs=("podman", "conmon", "runc"),
        version=("podman", "--version"),
        command=command,
        check=runtimes,
        ready=ready,
        layered=lambda spec: not of(spec).image,
        own_kernel=lambda spec: command_line.has_own_kernel(of(spec).runtime),
        engine=True,
        group="libpod-*",
        forget=forget,
    ),
    OciSpec,
)
