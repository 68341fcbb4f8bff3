"""Command lines of Podman: pure.

Source: podman(1), podman-run(1), podman-rm(1) of Podman 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from aferir.environments.limited import DISK
from aferir.environments.oci.spec import OciSpec
from aferir.errors import MissingError, ProgramError
from aferir.model.plan import PROGRAM_FOLDER

_MOST_FILES, _MOST_PROCESSES = 1_048_576, 32_768
"""Limits to which Podman lowers its own RLIMIT_NOFILE and RLIMIT_NPROC; without CAP_SYS_RESOURCE
they cannot be raised again for a container.
"""
_USERS = 65_536
SANDBOXED = ("runsc", "kata")
"""Prefixes of the names of runtimes that start a container with its own kernel."""


def run(
    spec: OciSpec,
    *,
    name: str,
    mark: str,
    limits: tuple[int, int],
    program: Path,
    inside: PurePosixPath,
    root: Path,
    files: Path,
    disk: Path | None,
    variables: Sequence[str],
    tree: Path | None = None,
    rootless: bool = False,
) -> list[str]:
    """Command that runs a container in the foreground, with our standard input and output.

    `limits` are this process's limits of open files and processes. `root` is a layered root, used
    if `spec` has no image; `files` is an empty folder of the host for a volume, and `mark` a
    variable that identifies the container's processes. With `rootless`, for an ordinary user, no
    control groups are made, and Podman mounts the layer above `tree` itself.
    """
    return [
        *engine(spec, rootless=rootless),
        *("run", "--rm", "--interactive", "--name", name, "--hostname", host_name(spec)),
        "--no-hosts",
        *("--log-driver=none", "--pull=never", f"--env={mark}"),
        *(() if rootless else (f"--cgroup-parent=/{name}",)),
        *(f"--ulimit=nofile={min(limits[0], _MOST_FILES)}:{min(limits[0], _MOST_FILES)}",),
        *(f"--ulimit=nproc={min(limits[1], _MOST_PROCESSES)}:{min(limits[1], _MOST_PROCESSES)}",),
        *isolation(spec, rootless=rootless),
        *folders(spec, files, disk if spec.image else None),
        *_started(spec, program, inside, tree or root, variables, layered=tree is None),
    ]


def host_name(spec: OciSpec) -> str:
    """Host name inside a container."""
    return "aferir" if spec.overlay is None else spec.overlay.name


def engine(spec: OciSpec, *, rootless: bool = False) -> list[str]:
    """Command of Podman with a runtime, and with control groups that do not need systemd."""
    flags = ["--runtime-flag=network=none"] if _alone(spec) else []
    flags += ["--runtime-flag=ignore-cgroups"] if rootless and spec.user_kernel() else []
    flags += ["--runtime-flag=network=host"] if _on_host(spec) else []
    return ["podman", "--cgroup-manager=cgroupfs", "--runtime", spec.runtime, *flags]


def has_own_kernel(runtime: str) -> bool:
    """True if that runtime, by its name or path, starts a container with its own kernel."""
    return PurePosixPath(runtime).name.startswith(SANDBOXED)


def remove(name: str) -> list[str]:
    """Command that removes the container `name` in any state; succeeds if there is none."""
    return ["podman", "rm", "--force", "--time", "0", "--ignore", name]


def _alone(spec: OciSpec) -> bool:
    return bool(spec.user_kernel()) and spec.network == "none"


def _on_host(spec: OciSpec) -> bool:
    return bool(spec.user_kernel()) and spec.network == "host"


def isolation(spec: OciSpec, *, rootless: bool = False) -> list[str]:
    """Options that remove or add isolation; with `rootless` there is always a user namespace."""
    made = [f"--network={spec.network}"]
    if spec.seccomp != "default":
        made.append(f"--security-opt=seccomp={spec.seccomp}")
    if spec.capabilities == "all":
        made.append("--cap-add=ALL")
    elif spec.capabilities != "default":
        made.append("--cap-drop=ALL")
        names = [name.strip() for name in spec.capabilities.split(",")]
        made += [f"--cap-add={name}" for name in names if name not in ("", "none")]
    if spec.user_namespace and not rootless:
        made += [f"--uidmap=0:0:{_USERS}", f"--gidmap=0:0:{_USERS}"]
    if spec.shm_bytes:
        made.append(f"--shm-size={spec.shm_bytes}b")
    return made


def folders(spec: OciSpec, files: Path, disk: Path | None) -> list[str]:
    """Options for a container's folders; `disk` is the folder of its own disk, or None."""
    made = []
    if spec.tmpfs:
        made.append(f"--tmpfs={spec.tmpfs}:rw,exec,mode=1777")
    if spec.volume:
        made.append(f"--volume={files}:{spec.volume}")
    if disk is not None:
        made.append(f"--volume={disk}:{DISK}")
    if spec.read_only:  # but for the folder that our programs are put into
        made += ["--read-only", f"--tmpfs={PROGRAM_FOLDER}:rw,exec"]
    return made


def not_pulled(spec: OciSpec, command: str, error: ProgramError) -> MissingError:
    """Error about an image that the engine cannot pull, with the engine's last message."""
    why = error.message.rpartition("Error: ")[2]
    return MissingError(
        f"the image `{spec.image}` of environment `{spec.name}` cannot be pulled: {why}",
        remedy=f"see whether `{command}` gets it; its full name begins with its registry",
    )


def _started(
    spec: OciSpec,
    program: Path,
    inside: PurePosixPath,
    root: Path,
    variables: Sequence[str],
    *,
    layered: bool,
) -> list[str]:
    """Options for the root and the first program.

    If the root is not `layered`, the engine makes a layer above it.
    """
    mounted = f"--volume={program}:{inside}:ro"
    if spec.image:
        return [mounted, f"--entrypoint={inside}", spec.image]
    if layered:
        return ["--rootfs", str(root), str(inside), *variables]
    return [mounted, "--rootfs", f"{root}:O", str(inside), *variables]
