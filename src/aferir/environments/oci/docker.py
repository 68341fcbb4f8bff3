"""Containers by a Docker daemon, which makes them itself: nothing of ours is their parent.

It cannot start from a folder, so our userland is imported once as an image, which stays until it is
removed as any other. Source: docker-run(1), docker-import(1) of Docker 20 and later.
"""

from __future__ import annotations

from pathlib import Path

from aferir.environments.oci import command_line
from aferir.environments.oci.spec import OciSpec
from aferir.environments.tool import INSIDE, VARIABLES, Place
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import userland
from aferir.linux import process, scratch, undo, wait
from aferir.machine import packages
from aferir.model.finding import Finding

REPOSITORY = "aferir-userland"
"""Repository of the images that our userlands are imported as; the tag is the userland's hash."""
_ASK_S, _PULL_S, _IMPORT_S, _REMOVE_S = 60.0, 900.0, 300.0, 20.0
_START = "systemctl start docker, or name a daemon in DOCKER_HOST"


def command(spec: OciSpec, place: Place, files: Path) -> list[str]:
    """Docker in the foreground; `files` are the container's own."""
    name, mark = place.name, f"{undo.MARK}={place.entry.id}"
    return [
        *("docker", "run", "--rm", "--interactive", "--name", name, "--hostname", "aferir"),
        *("--log-driver=none", f"--cgroup-parent=/{name}", "--pull=never", f"--env={mark}"),
        *(() if spec.runtime == "runc" else (f"--runtime={spec.runtime}",)),
        *command_line.isolation(spec),
        *command_line.folders(spec, files, place.disk),
        *(f"--volume={place.program}:{INSIDE}:ro", f"--entrypoint={INSIDE}", image_of(spec)),
        *(() if spec.image else VARIABLES),
    ]


def image_of(spec: OciSpec) -> str:
    """Its image, or the one that our userland is imported as."""
    if spec.image:
        return spec.image
    return f"{REPOSITORY}:{userland.host_recipe(spec.packages).hash}"


def remove(name: str) -> None:
    """Remove a container; none of that name: fine. Errors: OSError where it stays."""
    said: list[str] = []

    def gone() -> bool:
        """It is refused while the daemon removes it by itself, as its `--rm` has it do."""
        done = process.run(["docker", "rm", "--force", name], timeout_s=_ASK_S, check=False)
        said.append(process.explain_exit(done))
        return done.exit_code == 0 or "No such container" in done.stderr

    if not wait.until(gone, wait.after(_REMOVE_S), period_s=0.1):
        raise OSError(f"the container {name} stays: {said[-1]}")


def check() -> Finding:
    """Whether a daemon answers."""
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
    """See that a daemon answers and has the image, imported or pulled where it has not.

    Errors: MissingError, also for a key that a daemon's containers do not have.
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
    """Our userland as an image; the daemon takes it whole or not at all."""
    name = f"{REPOSITORY}:{image.metadata.hash}"
    with scratch.folder() as folder:
        archive = str(folder / "tree.tar")
        process.run(["tar", "-C", str(image.tree), "-cf", archive, "."], timeout_s=_IMPORT_S)
        process.run(["docker", "import", archive, name], timeout_s=_IMPORT_S)
