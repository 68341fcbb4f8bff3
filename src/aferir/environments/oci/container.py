"""Containers by Podman or Docker with any OCI runtime, of any image or of our own userland."""

from __future__ import annotations

import resource
from pathlib import Path

from aferir.environments import layer
from aferir.environments.features import Feature
from aferir.environments.oci import command_line, docker
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
_PODMAN = ("podman", "conmon", "runc")
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
            said = f"{name} is not installed"
            found.append(Finding(f"{KIND} {name}", "degraded", said, _how_to_get(name)))
        elif why := refusal(name, cgroup.layout()):
            found.append(Finding(f"{KIND} {name}", "degraded", why, 'runtime = "runc"'))
        else:
            kernel = ", a kernel of its own" if command_line.has_own_kernel(name) else ""
            found.append(Finding(f"{KIND} {name}", "ok", f"OCI runtime{kernel}"))
    return found


def _how_to_get(runtime: str) -> str:
    if runtime.startswith("kata"):
        return "install Kata Containers from its releases: Debian and Ubuntu have no package of it"
    return packages.install_command([runtime])


def refusal(runtime: str, have: cgroup.Layout) -> str:
    """Why a runtime that is installed starts nothing on this host; empty where it does.

    crun takes no controllers of version 1 beside a hierarchy of version 2 (cgroup.c, CGROUP_MODE_
    HYBRID).
    """
    if Path(runtime).name == "crun" and have.v1 and have.v2 is not None:
        return "crun refuses hybrid control groups, versions 1 and 2 beside each other, as here"
    return ""


def ready(spec: EnvironmentSpec) -> None:
    """See that the engine, the runtime and the image are there. Errors: MissingError."""
    own = of(spec)
    if own.engine == "docker":
        docker.ready(own)
        return
    if absent := packages.missing(_PODMAN):
        raise MissingError(
            f"environment `{spec.name}`: not installed: {', '.join(absent)}",
            remedy=packages.install_command(absent),
        )
    if packages.missing([own.runtime]):
        remedy = f"name the path of a program, or one of {', '.join(_RUNTIMES)}"
        if own.runtime in _RUNTIMES:
            remedy = _how_to_get(own.runtime)
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
        raise command_line.not_pulled(own, "podman pull", error) from None


def command(place: Place) -> list[str]:
    """The engine in the foreground."""
    spec = of(place.spec)
    mark = f"{undo.MARK}={place.entry.id}"
    files = layer.own_folder(place.root.parent)
    if spec.engine == "docker":
        return docker.run(
            spec,
            name=place.name,
            mark=mark,
            program=place.program,
            inside=INSIDE,
            files=files,
            disk=place.disk,
            variables=VARIABLES,
        )
    return command_line.run(
        spec,
        name=place.name,
        mark=mark,
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
    engine = entry.details.get("engine", "")
    if packages.missing([engine]):
        return
    try:
        if engine == "docker":
            docker.remove(name)
        else:
            process.run(command_line.remove(name), timeout_s=_ASK_S)
    except AferirError as error:
        raise OSError(f"the container of {entry.id} stays: {error.message}") from None


def engines() -> list[Finding]:
    """What can be said of each engine and each runtime; one engine is needed."""
    absent = packages.missing(_PODMAN)
    podman = Finding(f"{KIND} podman", "ok", "engine")
    if absent:
        said = f"not installed: {', '.join(absent)}"
        podman = Finding(f"{KIND} podman", "degraded", said, packages.install_command(absent))
    found = [podman, docker.check()]
    if all(finding.status != "ok" for finding in found):
        said = "no engine is here: neither Podman nor a Docker daemon"
        found.insert(0, Finding(KIND, "missing", said, podman.remedy))
    return found + runtimes()


def _most(limit: int) -> int:
    """This process's own hard limit (getrlimit(2))."""
    most = resource.getrlimit(limit)[1]
    return 2**62 if most == resource.RLIM_INFINITY else most


FEATURES = (
    Feature(
        name="own kernel",
        without={"runtime": "runc"},
        remedy='take a runtime that has the host\'s kernel (`runtime = "runc"`)',
        gives_up="the wall that a kernel of its own is between it and the host's",
    ),
    Feature(
        name="image",
        without={"image": None},
        remedy="build the program for the libraries that the image has, or take another image",
        gives_up="files that are the same everywhere",
    ),
    Feature(
        name="seccomp filter",
        without={"seccomp": "unconfined"},
        remedy="start it with `--security-opt seccomp=unconfined`, or with a shorter profile "
        "that names the program's frequent system calls first",
        gives_up="the refusal of system calls that it has no need of",
    ),
    Feature(
        name="network",
        without={"network": "host"},
        remedy="give it the host's network (`--network host`)",
        gives_up="addresses and ports of its own, and that others' are out of its reach",
    ),
    Feature(
        name="capabilities",
        without={"capabilities": "all"},
        remedy="leave it the capability that it needs (`--cap-add`)",
        gives_up="the bound of what root in it may do to the host",
    ),
    Feature(
        name="user namespace",
        without={"user_namespace": False},
        remedy="start it without a user namespace of its own",
        gives_up="that root in it is nobody outside",
    ),
    Feature(
        name="read-only root",
        without={"read_only": False},
        remedy="let it write to its root",
        gives_up="that its files stay as they were",
    ),
    Feature(
        name="shared memory limit",
        without={"shm": "1 GiB"},
        remedy="make /dev/shm larger (`--shm-size`), which ranks of MPI share memory in",
        gives_up="a bound of the memory that it takes",
    ),
)

OCI = kind(
    Tool(
        kind=KIND,
        programs=(),
        version=("podman", "--version"),
        command=command,
        check=engines,
        ready=ready,
        layered=lambda spec: of(spec).engine == "podman" and not of(spec).image,
        own_kernel=lambda spec: command_line.has_own_kernel(of(spec).runtime),
        engine=True,
        group="*" + "[0-9a-f]" * 12,
        details=lambda spec: {"engine": of(spec).engine},
        forget=forget,
    ),
    OciSpec,
    FEATURES,
)
