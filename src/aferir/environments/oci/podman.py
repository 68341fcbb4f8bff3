"""Containers by Podman, which needs no daemon and can start from a folder."""

from __future__ import annotations

import resource
from pathlib import Path

from aferir.environments.oci import command_line, runtimes
from aferir.environments.oci.spec import KIND, OciSpec
from aferir.environments.tool import INSIDE, VARIABLES, Place
from aferir.errors import MissingError, ProgramError
from aferir.linux import cgroup, process, undo
from aferir.machine import packages, privileges
from aferir.model.finding import Finding

_PROGRAMS = ("podman", "conmon", "runc")
_PULL_S, _ASK_S = 900.0, 60.0
_NO_IDS = "an ordinary user's containers need subordinate user and group IDs (subuid(5))"


def check() -> Finding:
    """Finding about whether Podman is installed and usable."""
    if absent := packages.missing(_needed()):
        said = f"not installed: {', '.join(absent)}"
        return Finding(f"{KIND} podman", "degraded", said, packages.install_command(absent))
    if _lacks_ids():
        return Finding(f"{KIND} podman", "degraded", _NO_IDS, _give_ids())
    return Finding(f"{KIND} podman", "ok", "engine")


def ready(spec: OciSpec) -> None:
    """Ensure that Podman, the runtime and the image are present. Errors: MissingError."""
    if absent := packages.missing(_needed(spec.network)):
        raise MissingError(
            f"environment `{spec.name}`: not installed: {', '.join(absent)}",
            remedy=packages.install_command(absent),
        )
    if _lacks_ids():
        raise MissingError(f"environment `{spec.name}`: {_NO_IDS}", remedy=_give_ids())
    if packages.missing([spec.runtime]):
        remedy = f"name the path of a program, or one of {', '.join(runtimes.KNOWN)}"
        if spec.runtime in runtimes.KNOWN:
            remedy = runtimes.how_to_get(spec.runtime)
        raise MissingError(
            f"environment `{spec.name}` asks for the OCI runtime `{spec.runtime}`: it is not here",
            remedy=remedy,
        )
    if why := runtimes.refusal(spec.runtime, cgroup.layout()):
        raise MissingError(f"environment `{spec.name}`: {why}", remedy='runtime = "runc"')
    if spec.image:
        _pull(spec)


def _needed(network: str = "none") -> tuple[str, ...]:
    """Programs that containers need; an ordinary user needs more, for user IDs and a network."""
    if privileges.is_root():
        return _PROGRAMS
    own_network = network not in ("none", "host")
    return (*_PROGRAMS, "newuidmap", *(("slirp4netns",) if own_network else ()))


def _lacks_ids() -> bool:
    """True for an ordinary user without subordinate IDs (subuid(5)), which runtimes require."""
    return not privileges.is_root() and not privileges.has_subordinate_ids()


def _give_ids() -> str:
    given = "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
    return f"sudo {given}, or {privileges.as_root_command()}"


def _pull(spec: OciSpec) -> None:
    exists = process.run(["podman", "image", "exists", spec.image], timeout_s=_ASK_S, check=False)
    if exists.exit_code == 0:
        return
    try:
        process.run(["podman", "pull", "--quiet", spec.image], timeout_s=_PULL_S)
    except ProgramError as error:
        raise command_line.not_pulled(spec, "podman pull", error) from None


def command(spec: OciSpec, place: Place, files: Path) -> list[str]:
    """Command that runs Podman in the foreground; `files` are the container's own."""
    return command_line.run(
        spec,
        name=place.name,
        mark=f"{undo.MARK}={place.entry.id}",
        limits=(_most(resource.RLIMIT_NOFILE), _most(resource.RLIMIT_NPROC)),
        program=place.program,
        inside=INSIDE,
        root=place.root,
        tree=place.tree,
        rootless=not privileges.is_root(),
        files=files,
        disk=place.disk,
        variables=VARIABLES,
    )


def remove(name: str) -> None:
    """Remove Podman's record of a container, if there is one. Errors: AferirError."""
    process.run(command_line.remove(name), timeout_s=_ASK_S)


def _most(limit: int) -> int:
    """Hard limit of this process for a resource (getrlimit(2))."""
    most = resource.getrlimit(limit)[1]
    return 2**62 if most == resource.RLIM_INFINITY else most
