"""Keys of a container of Podman or Docker; each may cause costs, so each may be a factor."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from aferir.environments.limited import LayeredSpec, wrong_network
from aferir.model import parameters
from aferir.model.checking import Wrong
from aferir.model.plan import EnvironmentKind

KIND = "oci"
EngineName = Literal["podman", "docker"]


class OciSpec(LayeredSpec, frozen=True, kw_only=True):
    """Specification of a container by Podman or Docker."""

    kind: EnvironmentKind = KIND
    engine: Annotated[EngineName, parameters.told("program that makes the containers")] = "podman"
    runtime: Annotated[
        str,
        parameters.text("OCI runtime below the engine: a name that it knows, or a path", "runsc"),
    ] = "runc"
    image: Annotated[
        str,
        parameters.text(
            "image that it starts from, pulled where it is not there",
            "debian:12",
            unset="the userland that the other kinds have, so that isolation alone differs",
        ),
    ] = ""
    network: Annotated[
        str, parameters.text("`none`, `host`, `bridge`, or the name of a network", "host")
    ] = "none"
    seccomp: Annotated[
        str,
        parameters.text(
            "filter of system calls: `default` is the engine's own, `unconfined` none, else the "
            "path of a profile",
            "unconfined",
        ),
    ] = "default"
    capabilities: Annotated[
        str,
        parameters.text(
            "`default` are the engine's own; `all`, `none`, or their names separated by commas",
            "NET_ADMIN, SYS_NICE",
        ),
    ] = "default"
    user_namespace: Annotated[
        bool,
        parameters.told(
            "whether it has a user namespace; its user 0 stays the host's, as files belong to it"
        ),
    ] = False
    read_only: Annotated[bool, parameters.told("whether its root cannot be written to")] = False
    tmpfs: Annotated[
        str,
        parameters.text("folder in it that is kept in memory", "/data", unset="none"),
    ] = ""
    shm_bytes: Annotated[
        int,
        parameters.size("size of /dev/shm; 0: as the engine has it", 0, 2**50, key="shm"),
    ] = 0

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report keys with which instances on several hosts cannot have a network of their own."""
        wrong = (*super().conflicts(), *wrong_network(self, self.network))
        if self.is_spread and self.user_kernel():
            said = "gVisor does not see an interface that is made after its start"
            return (*wrong, Wrong("runtime", said, 'runtime = "runc", or name one host'))
        return wrong

    def user_kernel(self) -> str:
        """Description of the kernel in user space if the runtime has one (gVisor); else empty."""
        gvisor = PurePosixPath(self.runtime).name.startswith("runsc")
        return "a kernel in user space (gVisor)" if gvisor else ""
