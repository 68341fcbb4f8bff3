"""Hardware of a guest: its board, the devices that each board has, and their names in the guest.

Source: qemu-system-x86_64(1); QEMU's documentation of the machine `microvm` (microvm.rst).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Machine = Literal["q35", "pc", "microvm"]
DiskDevice = Literal["virtio", "nvme", "scsi", "sata", "ide"]
NetworkDevice = Literal["none", "virtio", "e1000", "rtl8139"]
WHOLE = "whole"


class Board(msgspec.Struct, frozen=True):
    """A machine type of QEMU, with options that omit devices our guests never use."""

    options: str
    """Value of QEMU's option `-machine`."""
    disks: frozenset[DiskDevice]
    networks: frozenset[NetworkDevice]
    bus: Literal["pci", "device"] = "pci"
    """Last part of the names of virtio devices: `device` if memory-mapped (virtio-mmio)."""
    emulated: bool = True
    """Whether Linux always boots on it without KVM, even if the host is busy."""


_NETWORKS: frozenset[NetworkDevice] = frozenset(("none", "virtio", "e1000", "rtl8139"))
BOARDS: Mapping[Machine, Board] = {
    "q35": Board(
        "q35,smm=off,vmport=off,sata=off,smbus=off,graphics=off",
        frozenset(("virtio", "nvme", "scsi", "sata")),
        _NETWORKS,
    ),
    "pc": Board(
        "pc,smm=off,vmport=off,graphics=off",
        frozenset(("virtio", "nvme", "scsi", "sata", "ide")),
        _NETWORKS,
    ),
    "microvm": Board(
        "microvm",
        frozenset(("virtio", "scsi")),
        frozenset(("none", "virtio")),
        bus="device",
        emulated=False,
    ),
}
"""Boards by name, the usual one first."""

_DISK_DEVICES: Mapping[DiskDevice, tuple[str, ...]] = {
    "virtio": ("virtio-blk-{bus},drive=disk",),
    "nvme": ("nvme,drive=disk,serial=aferir",),
    "scsi": ("virtio-scsi-{bus},id=scsi", "scsi-hd,drive=disk,bus=scsi.0"),
    "sata": ("ich9-ahci,id=sata", "ide-hd,drive=disk,bus=sata.0"),
    "ide": ("ide-hd,drive=disk,bus=ide.0",),
}
DISK_NAMES: Mapping[DiskDevice, str] = {
    "virtio": "vda",
    "nvme": "nvme0n1",
    **dict.fromkeys(("scsi", "sata", "ide"), "sda"),
}
"""Name that the guest's kernel gives to the main disk, by kind of device."""


def tools_name(disk: DiskDevice) -> str:
    """Name in the guest of the virtio disk with our tools, given the kind of the main disk."""
    return "vdb" if DISK_NAMES[disk] == "vda" else "vda"


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """Hardware of a guest; each part of it may be a cause of cost."""

    cpu_model: str = ""
    """A model of `qemu-system-x86_64 -cpu help`; empty: all features that are available."""
    machine: Machine = "q35"
    disk_device: DiskDevice = "virtio"
    network_device: NetworkDevice = "none"
    kernel: str = ""
    """Path of a kernel, or `whole` for the distribution's. Empty: the image's kernel if it has all
    drivers, else the distribution's.
    """

    @property
    def board(self) -> Board:
        """The board that `machine` names."""
        return BOARDS[self.machine]

    def wants_whole_kernel(self) -> bool:
        """True if the image's cloud kernel lacks a driver, so that the distribution's is needed."""
        plain = self.disk_device in ("virtio", "nvme") and self.network_device == "none"
        return self.kernel == WHOLE or not (self.kernel or plain)

    def virtio(self, device: str, options: str) -> str:
        """Value of `-device` for a virtio device (`blk`, `net`, `serial`) on this board's bus."""
        return f"virtio-{device}-{self.board.bus}{options}"

    def disk(self) -> tuple[str, ...]:
        """Values of `-device` that attach the drive `disk` by this hardware's controller."""
        devices = _DISK_DEVICES[self.disk_device]
        return tuple(device.format(bus=self.board.bus) for device in devices)

    def network(self, netdev: str, *, firmware: bool = False) -> str:
        """Value of `-device` that connects the guest's interface to the network `netdev`.

        `netdev` is the `id` of a `-netdev` option. The interface is virtio if none is chosen. With
        `firmware` it has QEMU's, iPXE, by which the guest boots from that network.
        """
        device = self.network_device
        name = self.virtio("net", "") if device in ("none", "virtio") else device
        # Devices on PCI have a memory for firmware, which costs time at boot.
        unused = ",romfile=" if self.board.bus == "pci" and not firmware else ""
        return f"{name},netdev={netdev}{unused}"
