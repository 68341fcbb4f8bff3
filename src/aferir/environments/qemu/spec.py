"""What can be said of a guest under QEMU."""

from __future__ import annotations

from typing import Annotated

from aferir.environments.features import PROCESSORS, Feature
from aferir.environments.limited import LimitedSpec
from aferir.environments.qemu import command_line
from aferir.model import parameters
from aferir.model.plan import EnvironmentKind

KIND = "vm"
KEPT_BYTES = 64 * 2**20
"""What a guest's kernel and user land keep of its memory, about."""


class GuestSpec(LimitedSpec, frozen=True, kw_only=True):
    """A guest under QEMU."""

    kind: EnvironmentKind = KIND
    cpu_model: Annotated[
        str,
        parameters.text(
            "model of its processors, out of `qemu-system-x86_64 -cpu help`",
            "Skylake-Server",
            unset="all that the host has, or all that QEMU emulates",
        ),
    ] = ""
    machine: Annotated[
        command_line.Machine, parameters.told("its board: PCI Express, or the PCI of 1996")
    ] = "q35"
    disk_device: Annotated[
        command_line.DiskDevice, parameters.told("what its disk is, to its kernel")
    ] = "virtio"

    def hardware(self) -> command_line.Hardware:
        """What it finds."""
        return command_line.Hardware(
            cpu_model=self.cpu_model, machine=self.machine, disk_device=self.disk_device
        )

    def kept_bytes(self) -> int:
        """As all guests with a kernel of their own."""
        return KEPT_BYTES


FEATURES = (
    Feature(
        name="CPU model",
        without={"cpu_model": None},
        remedy="let it have all that the host's processor can do (`cpu_model` left out)",
        gives_up="that it can be moved to hosts with an older processor",
    ),
    Feature(
        name="PCI board",
        without={"machine": "q35"},
        remedy='take a board with PCI Express (`machine = "q35"`)',
        gives_up="systems that only know the board of 1996",
    ),
    Feature(
        name="emulated disk",
        without={"disk_device": "virtio"},
        remedy='take the paravirtual disk (`disk_device = "virtio"`)',
        gives_up="systems that have no driver for it",
    ),
    *PROCESSORS,
)
