"""Containers by Podman or Docker with any OCI runtime, of any image or of our own userland."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from aferir.environments import layer
from aferir.environments.features import Feature
from aferir.environments.oci import command_line, docker, podman, runtimes
from aferir.environments.oci.spec import KIND, OciSpec
from aferir.environments.sandbox import kind
from aferir.environments.tool import Place, Tool
from aferir.errors import AferirError
from aferir.linux import undo
from aferir.linux.journal import Entry
from aferir.machine import packages
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """A program that makes containers, such as Podman or Docker."""

    check: Callable[[], Finding]
    """Returns a finding about whether the engine is installed."""
    ready: Callable[[OciSpec], None]
    """Ensures that it, the runtime and the image are present. Errors: MissingError."""
    command: Callable[[OciSpec, Place, Path], list[str]]
    """Command that starts a container in the foreground; the folder holds the container's files."""
    remove: Callable[[str], None]
    """Removes the engine's record of a container. Errors: AferirError or OSError if it stays."""
    takes_a_folder: bool = False
    """True if it can start from a folder of files, not only from images."""


def of(spec: EnvironmentSpec) -> OciSpec:
    """Convert a specification to one of a container; missing keys get their defaults."""
    if isinstance(spec, OciSpec):
        return spec
    known = {name: getattr(spec, name) for name in EnvironmentSpec.__struct_fields__}
    return OciSpec(**known)


def _engine(spec: EnvironmentSpec) -> Engine:
    return ENGINES[of(spec).engine]


def _command(place: Place) -> list[str]:
    """Command that runs the engine in the foreground."""
    return _engine(place.spec).command(of(place.spec), place, layer.own_folder(place.root.parent))


def forget(entry: Entry, name: str) -> None:
    """Kill the monitor that the engine runs for a container, and remove the engine's record of it.

    Errors: OSError if it is left.
    """
    undo.kill(lambda arguments, _: name in arguments)
    engine = entry.details.get("engine", "")
    if packages.missing([engine]):
        return
    try:
        ENGINES[engine].remove(name)
    except AferirError as error:
        raise OSError(f"the container of {entry.id} stays: {error.message}") from None


def engines() -> list[Finding]:
    """Findings about each engine and each runtime; one engine is required."""
    found = [engine.check() for engine in ENGINES.values()]
    if all(finding.status != "ok" for finding in found):
        said = f"no engine can be used: {'; '.join(finding.message for finding in found)}"
        found.insert(0, Finding(KIND, "missing", said, found[0].remedy))
    return found + runtimes.findings()


ENGINES: Mapping[str, Engine] = {
    "podman": Engine(
        check=podman.check,
        ready=podman.ready,
        command=podman.command,
        remove=podman.remove,
        takes_a_folder=True,
    ),
    "docker": Engine(
        check=docker.check,
        ready=docker.ready,
        command=docker.command,
        remove=docker.remove,
    ),
}
"""Engines by the value of `engine` in an environment."""

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
        command=_command,
        check=engines,
        ready=lambda spec: _engine(spec).ready(of(spec)),
        layered=lambda spec: _engine(spec).takes_a_folder and not of(spec).image,
        own_kernel=lambda spec: command_line.has_own_kernel(of(spec).runtime),
        engine=True,
        rootless=True,
        group="*" + "[0-9a-f]" * 12,
        details=lambda spec: {"engine": of(spec).engine},
        forget=forget,
    ),
    OciSpec,
    FEATURES,
    spreads=True,
)
