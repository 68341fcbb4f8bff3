"""Keys of a guest under QEMU."""

from __future__ import annotations

from typing import Annotated

from aferir.environments.features import PROCESSORS, Feature
from aferir.environments.limited import LimitedSpec
from aferir.environments.qemu.hardware import (
    BOARDS,
    DiskDevice,
    Hardware,
    Machine,
    NetworkDevice,
)
from aferir.model import parameters
from aferir.model.checking import Wrong
from aferir.model.plan import EnvironmentKind

KIND = "vm"
KEPT_BYTES = 64 * 2**20
"""Approximate memory in bytes that a guest's kernel and userland occupy."""


class GuestSpec(LimitedSpec, frozen=True, kw_only=True):
    """A virtual machine under QEMU."""

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
        Machine,
        parameters.told(
            "its board: PCI Express; the PCI of 1996; or QEMU's `microvm`, without PCI"
        ),
    ] = "q35"
    disk_device: Annotated[DiskDevice, parameters.told("what its disk is, to its kernel")] = (
        "virtio"
    )

    network_device: Annotated[
        NetworkDevice,
        parameters.told("what its interface is, in QEMU's own network, where the host is 10.0.2.2"),
    ] = "none"
    disk_size_bytes: Annotated[
        int,
        parameters.size(
            "size of its disk, at least that of the image; 0: as the image",
            0,
            2**50,
            key="disk_size",
        ),
    ] = 0
    image: Annotated[
        str,
        parameters.text(
            "its disk: the path of an image, raw or qcow2, with the root of a distribution on ext4;"
            " it is not written to",
            "/images/debian-12.qcow2",
            unset="the userland that other environments have too",
        ),
    ] = ""
    kernel: Annotated[
        str,
        parameters.text(
            "its kernel: the path of one with its drivers built in, or `whole`, the distribution's",
            "whole",
            unset="the image's own, or the whole one where that lacks a driver",
        ),
    ] = ""

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report devices that the board lacks, and keys that conflict with image or hosts."""
        if self.is_spread and (self.image or self.network_device != "none"):
            key = "image" if self.image else "network_device"
            said = "guests on several hosts have our userland, and an interface for those hosts"
            return (*super().conflicts(), Wrong(key, said, "remove it, or name one host"))
        if self.image and self.disk_size_bytes:
            said = "is for the userland of ours; the image has its own"
            return (*super().conflicts(), Wrong("disk_size", said, "qemu-img resize IMAGE SIZE"))
        return (*super().conflicts(), *self._not_on_the_board())

    def _not_on_the_board(self) -> tuple[Wrong, ...]:
        on = {
            "disk_device": [n for n, one in BOARDS.items() if self.disk_device in one.disks],
            "network_device": [
                n for n, one in BOARDS.items() if self.network_device in one.networks
            ],
        }
        return tuple(
            Wrong(key, f"is not on the board {self.machine}", f'machine = "{having[0]}"')
            for key, having in on.items()
            if self.machine not in having
        )

    def hardware(self) -> Hardware:
        """Hardware of the guest."""
        return Hardware(
            cpu_model=self.cpu_model,
            machine=self.machine,
            disk_device=self.disk_device,
            network_device=self.network_device,
            kernel=self.kernel,
        )

    def kept_bytes(self) -> int:
        """Memory in bytes that the guest's own kernel and userland occupy."""
        return KEPT_BYTES


FEATURES = (
    Feature(
        name="CPU model",
        without={"cpu_model": None},
        remedy="let it have all that the host's processor can do (`cpu_model` left out)",
        gives_up="that it can be moved to hosts with an older processor",
    ),
    Feature(
        name="board",
        without={"machine": "q35"},
        remedy='take the board with PCI Express (`machine = "q35"`)',
        gives_up="what only the other board has: devices of 1996, or the few of a `microvm`",
    ),
    Feature(
        name="emulated disk",
        without={"disk_device": "virtio"},
        remedy='take the paravirtual disk (`disk_device = "virtio"`)',
        gives_up="systems that have no driver for it",
    ),
    *PROCESSORS,
)
