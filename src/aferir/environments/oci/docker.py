"""Containers by a Docker daemon, which is the parent of their processes.

It cannot start from a folder, so our userland is imported once as an image, which stays until the
user removes it. Source: docker-run(1), docker-import(1) of Docker 20 and later.
"""

from __future__ import annotations

from pathlib import Path

from aferir.environments.oci import command_line
from aferir.environments.oci.spec import OciSpec
from aferir.environments.tool import INSIDE, VARIABLES, Place
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import userland
from aferir.linux import process, scratch, undo, wait
from aferir.machine import packages, privileges
from aferir.model.finding import Finding

REPOSITORY = "aferir-userland"
"""Repository of the images of our userland; the tag is the userland's hash."""
_ASK_S, _PULL_S, _IMPORT_S, _REMOVE_S = 60.0, 900.0, 300.0, 20.0
_START = "systemctl start docker, or name a daemon in DOCKER_HOST"


def command(spec: OciSpec, place: Place, files: Path) -> list[str]:
    """Command that runs Docker in the foreground; `files` are the container's own."""
    name, mark = place.name, f"{undo.MARK}={place.entry.id}"
    return [
        *("docker", "run", "--rm", "--interactive", "--name", name),
        *("--hostname", command_line.host_name(spec)),
        *("--log-driver=none", "--pull=never", f"--env={mark}"),
        # An ordinary user could not remove a group that the daemon makes.
        *((f"--cgroup-parent=/{name}",) if privileges.is_root() else ()),
        *(() if spec.runtime == "runc" else (f"--runtime={spec.runtime}",)),
        *command_line.isolation(spec),
        *command_line.folders(spec, files, place.disk),
        *(f"--volume={place.program}:{INSIDE}:ro", f"--entrypoint={INSIDE}", image_of(spec)),
        *(() if spec.image else VARIABLES),
    ]


def image_of(spec: OciSpec) -> str:
    """Image that the specification names, or else the image of our own userland."""
    if spec.image:
        return spec.image
    return f"{REPOSITORY}:{userland.host_recipe(spec.packages).hash}"


def remove(name: str) -> None:
    """Remove a container; succeeds if there is none. Errors: OSError if it is left."""
    said: list[str] = []

    def gone() -> bool:
        """True once the container is gone; the daemon refuses while its own `--rm` removes it."""
        done = process.run(["docker", "rm", "--force", name], timeout_s=_ASK_S, check=False)
        said.append(process.explain_exit(done))
        return done.exit_code == 0 or "No such container" in done.stderr

    if not wait.until(gone, wait.after(_REMOVE_S), period_s=0.1):
        raise OSError(f"the container {name} stays: {said[-1]}")


def check() -> Finding:
    """Finding about a daemon that answers."""
    if packages.missing(["docker"]):
        said, remedy = "docker is not installed", packages.install_command(["docker"])
        return Finding("oci docker", "degraded", said, remedy)
    try:
        asked = ["docker", "version", "--format", "{{.Server.Version}}"]
        version = process.run(asked, timeout_s=_ASK_S).stdout.strip()
    except AferirError:
        return Finding("oci docker", "degraded", "no Docker daemon answers", _START)
    return Finding("oci docker", "ok", f"engine, Docker {version}")


def ready(spec: OciSpec) -> None:
    """Ensure that a daemon answers and has the image; import or pull it if it is missing.

    Errors: MissingError, also for a key that containers of a daemon do not support.
    """
    finding = check()
    if finding.status != "ok":
        raise MissingError(f"environment `{spec.name}`: {finding.message}", remedy=finding.remedy)
    if spec.user_namespace or not spec.huge_pages or spec.merge_pages:
        raise MissingError(
            f"environment `{spec.name}`: a container of Docker has the user namespace and the "
            "kind of pages that its daemon has",
            remedy='remove `user_namespace`, `huge_pages` and `merge_pages`, or engine = "podman"',
        )
    asked = ["docker", "image", "inspect", image_of(spec)]
    if process.run(asked, timeout_s=_ASK_S, check=False).exit_code == 0:
        return
    if not spec.image:
        _import(userland.ensure(extra=spec.packages))
        return
    try:
        process.run(["docker", "pull", "--quiet", spec.image], timeout_s=_PULL_S)
    except ProgramError as error:
        raise command_line.not_pulled(spec, "docker pull", error) from None


def _import(image: userland.Image) -> None:
    """Import our userland as an image; the daemon imports it completely or not at all."""
    name = f"{REPOSITORY}:{image.metadata.hash}"
    with scratch.folder() as folder:
        archive = str(folder / "tree.tar")
        process.run(["tar", "-C", str(image.tree), "-cf", archive, "."], timeout_s=_IMPORT_S)
        process.run(["docker", "import", archive, name], timeout_s=_IMPORT_S)
