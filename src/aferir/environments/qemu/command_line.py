"""The command line of a guest: pure.

Source: qemu-system-x86_64(1), qemu-block-drivers(7). The machine is q35 without devices that our
guests never use. microvm boots no faster, and has no timer for calibration, so that on a busy host
an emulated guest hangs in about one boot of three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from aferir.image import initramfs

Accelerator = Literal["kvm", "tcg", "counted"]
"""`counted`: emulated, with a clock that counts instructions instead of following the host's."""

PROGRAM = "qemu-system-x86_64"
Machine = Literal["q35", "pc"]
DiskDevice = Literal["virtio", "nvme", "scsi", "sata", "ide"]
NetworkDevice = Literal["none", "virtio", "e1000", "rtl8139"]
DiskForm = Literal["raw", "qcow2"]
WHOLE = "whole"
_MACHINES: Mapping[Machine, str] = {
    "q35": "q35,smm=off,vmport=off,sata=off,smbus=off,graphics=off",
    "pc": "pc,smm=off,vmport=off,graphics=off",
}
_DISK_DEVICES: Mapping[DiskDevice, tuple[str, ...]] = {
    "virtio": ("virtio-blk-pci,drive=disk",),
    "nvme": ("nvme,drive=disk,serial=aferir",),
    "scsi": ("virtio-scsi-pci,id=scsi", "scsi-hd,drive=disk,bus=scsi.0"),
    "sata": ("ich9-ahci,id=sata", "ide-hd,drive=disk,bus=sata.0"),
    "ide": ("ide-hd,drive=disk,bus=ide.0",),
}
DISK_NAMES: Mapping[DiskDevice, str] = {
    "virtio": "vda",
    "nvme": "nvme0n1",
    **dict.fromkeys(("scsi", "sata", "ide"), "sda"),
}
"""Name of the disk in the guest's kernel."""


def tools_name(disk: DiskDevice) -> str:
    """Name, in the guest's kernel, of a virtio disk beside its disk of that kind."""
    return "vdb" if DISK_NAMES[disk] == "vda" else "vda"


_KERNEL = "console=ttyS0 quiet loglevel=3 nokaslr random.trust_cpu=on panic=-1 no_timer_check"
"""Kernel parameters. quiet: each character on the emulated serial line costs a VM exit. nokaslr: no
relocation. no_timer_check: the kernel waits for ten ticks and panics without them, which an
emulated guest does not receive in time on a busy host (check_timer, io_apic.c); guests of KVM skip
the check.
"""
_ACCELERATION = {
    "kvm": ["-accel", "kvm"],
    "tcg": ["-accel", "tcg,thread=multi"],
    # An instruction takes 2 ns (shift=1), and time with nothing to do is skipped (sleep=off).
    "counted": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"],
}


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """Hardware of a guest, each part of which is a cause of cost."""

    cpu_model: str = ""
    """A model of `qemu-system-x86_64 -cpu help`; empty: all features that are available."""
    machine: Machine = "q35"
    disk_device: DiskDevice = "virtio"
    network_device: NetworkDevice = "none"
    kernel: str = ""
    """Path of a kernel, `whole` for the distribution's, or empty: the one with the needed drivers.
    """

    def wants_whole_kernel(self) -> bool:
        """True if the image's cloud kernel lacks a driver, so that the distribution's is needed."""
        plain = self.disk_device in ("virtio", "nvme") and self.network_device == "none"
        return self.kernel == WHOLE or not (self.kernel or plain)


_USUAL = Hardware()


class Wire(msgspec.Struct, frozen=True):
    """One end of a cable to another guest: Ethernet frames as datagrams between two sockets."""

    local: Path
    remote: Path


_DRIVE = "if=none,id=disk,format=qcow2,backing.file.locking=off"
"""Drive options; no lock on the backing image, which is only read and which a guest of User-Mode
Linux may have locked.
"""


def command(
    *,
    name: str,
    folder: Path,
    kernel: Path,
    archive: Path,
    cpus: int,
    memory_bytes: int,
    accelerator: Accelerator,
    tap: tuple[str, str] | None = None,
    wires: Sequence[Wire] = (),
    hardware: Hardware = _USUAL,
    tools: Path | None = None,
) -> list[str]:
    """Command of a guest with `folder`/disk.qcow2, and sockets of agent and monitor there.

    Memory is rounded up to whole MiB. `tap` is an interface of the host, and the guest's hardware
    address on it. `wires` make interfaces that QEMU's monitor calls wire0, wire1, ...; without
    either the guest has no network. `tools` is a disk with our userland, beside one with another.
    """
    return [
        *_machine(name, folder, kernel, archive, accelerator, hardware=hardware),
        *("-smp", f"{cpus},sockets=1,cores={cpus},threads=1"),
        *("-m", f"{-(-memory_bytes // 2**20)}M"),
        *("-append", _KERNEL),
        *("-drive", f"{_DRIVE},file={escaped(disk(folder))}"),
        *(word for device in _DISK_DEVICES[hardware.disk_device] for word in ("-device", device)),
        *(_tools(tools) if tools is not None else ()),
        *("-device", "virtio-serial-pci"),
        *("-chardev", f"socket,id=agent,server=on,wait=off,path={escaped(agent(folder))}"),
        *("-device", f"virtserialport,nr=1,chardev=agent,name={initramfs.AGENT_PORT}"),
        *("-chardev", f"socket,id=bulk,server=on,wait=off,path={escaped(bulk(folder))}"),
        *("-device", "virtserialport,nr=2,chardev=bulk,name=aferir.bulk"),
        *("-chardev", f"socket,id=monitor,server=on,wait=off,path={escaped(monitor(folder))}"),
        *("-mon", "chardev=monitor,mode=control"),
        *(_network(*tap) if tap is not None else ()),
        *(_of_qemu(hardware.network_device) if hardware.network_device != "none" else ()),
        *(word for number, wire in enumerate(wires) for word in _wire(number, wire)),
    ]


def trial_command(
    *, name: str, folder: Path, kernel: Path, archive: Path, accelerator: Accelerator
) -> list[str]:
    """Command of a guest with a serial line only, which powers off once it has booted."""
    return [
        *_machine(name, folder, kernel, archive, accelerator),
        *("-smp", "1", "-m", "256M"),
        *("-append", f"{_KERNEL} aferir.only=boot"),
    ]


def _wire(number: int, wire: Wire) -> list[str]:
    name = f"wire{number}"
    local = f"local.type=unix,local.path={escaped(wire.local)}"
    remote = f"remote.type=unix,remote.path={escaped(wire.remote)}"
    # 802.3ad adds an interface to a group only if it reports speed and duplex.
    says = "speed=1000,duplex=full"
    device = ["-device", f"virtio-net-pci,netdev={name},id={name}-device,romfile=,{says}"]
    return ["-netdev", f"dgram,id={name},{local},{remote}", *device]


def _tools(disk: Path) -> list[str]:
    drive = "if=none,id=tools,format=raw,readonly=on,file.locking=off"
    return ["-drive", f"{drive},file={escaped(disk)}", "-device", "virtio-blk-pci,drive=tools"]


def overlay_command(base: Path, overlay: Path, form: DiskForm = "raw") -> list[str]:
    """Command that makes a copy-on-write disk above `base`, which has that form."""
    names = ["-F", form, "-b", str(base), str(overlay)]
    return ["qemu-img", "create", "-q", "-f", "qcow2", *names]


def _network(tap: str, hardware_address: str) -> list[str]:
    return [
        *("-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=net,romfile=,mac={hardware_address}"),
    ]


def _of_qemu(device: NetworkDevice) -> list[str]:
    """Options of QEMU's user network, in which the host is 10.0.2.2."""
    name = "virtio-net-pci" if device == "virtio" else device
    return ["-netdev", "user,id=user", "-device", f"{name},netdev=user,romfile="]


def disk(folder: Path) -> Path:
    """Disk with what a guest writes."""
    return folder / "disk.qcow2"


def agent(folder: Path) -> Path:
    """Socket of the guest agent."""
    return folder / "agent"


def bulk(folder: Path) -> Path:
    """Socket of the port through which files are copied in."""
    return folder / "bulk"


def monitor(folder: Path) -> Path:
    """Socket of QEMU's monitor."""
    return folder / "monitor"


def console(folder: Path) -> Path:
    """Console output of the guest's kernel and first programs."""
    return folder / "console.log"


def escaped(path: Path) -> str:
    """Escape commas, which end a value in QEMU's options."""
    return str(path).replace(",", ",,")


def _machine(
    name: str,
    folder: Path,
    kernel: Path,
    archive: Path,
    accelerator: Accelerator,
    *,
    hardware: Hardware = _USUAL,
) -> list[str]:
    everything = "host" if accelerator == "kvm" else "max"
    return [
        PROGRAM,
        *("-name", name, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", _MACHINES[hardware.machine]),
        *_ACCELERATION[accelerator],
        *("-cpu", hardware.cpu_model or everything),
        *("-kernel", str(kernel), "-initrd", str(archive)),
        *("-chardev", f"file,id=console,path={escaped(console(folder))}"),
        *("-serial", "chardev:console"),
    ]
