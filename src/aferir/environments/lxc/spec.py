"""Keys of a container by LXC, and its removable features."""

from __future__ import annotations

from typing import Annotated, Literal

from aferir.environments.features import LIMITS, OVERLAY, Feature
from aferir.environments.limited import LayeredSpec, wrong_network
from aferir.model.checking import Wrong
from aferir.model.parameters import told
from aferir.model.plan import EnvironmentKind

KIND = "container"


class ContainerSpec(LayeredSpec, frozen=True, kw_only=True):
    """Specification of a container by LXC."""

    kind: EnvironmentKind = KIND
    seccomp: Annotated[
        Literal["default", "unconfined"],
        told("filter of system calls: LXC's own, where it is installed, or none"),
    ] = "default"
    network: Annotated[
        Literal["none", "host"], told("a network of its own without any link, or the host's")
    ] = "none"

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report the key for the host's network in a container that is joined to other hosts."""
        return (*super().conflicts(), *wrong_network(self, self.network))


FEATURES = (
    Feature(
        name="seccomp filter",
        without={"seccomp": "unconfined"},
        remedy="leave out `lxc.seccomp.profile`",
        gives_up="the refusal of system calls that change the host's kernel",
    ),
    Feature(
        name="network",
        without={"network": "host"},
        remedy='give it the host\'s network (`lxc.net.0.type = "none"`)',
        gives_up="addresses and ports of its own, and that others' are out of its reach",
    ),
    OVERLAY,
    *LIMITS,
)
