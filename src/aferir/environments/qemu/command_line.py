"""The command line of a guest: pure.

Source: qemu-system-x86_64(1), qemu-block-drivers(7). The machine is q35 without what a guest of
ours never uses; microvm boots no faster, and has no timer to calibrate against, so that an
emulated one on a busy host hangs in about one boot of three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from aferir.image import initramfs

Accelerator = Literal["kvm", "tcg", "counted"]
"""`counted`: emulated, on a clock that counts instructions instead of following the host's."""

PROGRAM = "qemu-system-x86_64"
Machine = Literal["q35", "pc"]
DiskDevice = Literal["virtio", "nvme", "scsi", "sata", "ide"]
NetworkDevice = Literal["none", "virtio", "e1000", "rtl8139"]
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
"""What the guest's kernel calls them."""
_KERNEL = "console=ttyS0 quiet loglevel=3 nokaslr random.trust_cpu=on panic=-1 no_timer_check"
"""quiet: each character on the emulated serial line costs an exit. nokaslr: no relocation.
no_timer_check: the kernel waits for ten ticks and panics without them, which an emulated guest
that waits for the host's processors does not see in time (check_timer, io_apic.c); a guest of KVM
leaves that out by itself."""
_ACCELERATION = {
    "kvm": ["-accel", "kvm"],
    "tcg": ["-accel", "tcg,thread=multi"],
    # An instruction takes 2 ns (shift=1), and time with nothing to do is skipped (sleep=off).
    "counted": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"],
}


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """What a guest finds, each a cause of what it costs."""

    cpu_model: str = ""
    """As `qemu-system-x86_64 -cpu help` has it; empty: all that there is."""
    machine: Machine = "q35"
    disk_device: DiskDevice = "virtio"
    network_device: NetworkDevice = "none"
    kernel: str = ""
    """Path of one, `whole` for the distribution's, or empty: whichever has the drivers."""

    def wants_whole_kernel(self) -> bool:
        """Whether the image's kernel, which is for clouds, does not do."""
        plain = self.disk_device in ("virtio", "nvme") and self.network_device == "none"
        return self.kernel == WHOLE or not (self.kernel or plain)


_USUAL = Hardware()


class Wire(msgspec.Struct, frozen=True):
    """One end of a cable to another guest: Ethernet frames as datagrams of two sockets."""

    local: Path
    remote: Path


_DRIVE = "if=none,id=disk,format=qcow2,backing.file.locking=off"
"""The image below is only ever read, and a guest under User-Mode Linux has locked it."""


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
) -> list[str]:
    """A guest with `folder`/disk.qcow2, its agent and monitor on sockets in `folder`.

    Memory is rounded up to whole MiB. `tap` is an interface of the host, and the guest's own
    hardware address on it. `wires` make interfaces, which QEMU's monitor calls wire0, wire1, ...;
    without either the guest has no network.
    """
    return [
        *_machine(name, folder, kernel, archive, accelerator, hardware=hardware),
        *("-smp", f"{cpus},sockets=1,cores={cpus},threads=1"),
        *("-m", f"{-(-memory_bytes // 2**20)}M"),
        *("-append", _KERNEL),
        *("-drive", f"{_DRIVE},file={escaped(disk(folder))}"),
        *(word for device in _DISK_DEVICES[hardware.disk_device] for word in ("-device", device)),
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
    """A guest with nothing but a serial line, which powers itself off once it has booted."""
    return [
        *_machine(name, folder, kernel, archive, accelerator),
        *("-smp", "1", "-m", "256M"),
        *("-append", f"{_KERNEL} aferir.only=boot"),
    ]


def _wire(number: int, wire: Wire) -> list[str]:
    name = f"wire{number}"
    local = f"local.type=unix,local.path={escaped(wire.local)}"
    remote = f"remote.type=unix,remote.path={escaped(wire.remote)}"
    # Of an interface that does not say so, 802.3ad takes none into a group.
    says = "speed=1000,duplex=full"
    device = ["-device", f"virtio-net-pci,netdev={name},id={name}-device,romfile=,{says}"]
    return ["-netdev", f"dgram,id={name},{local},{remote}", *device]


def overlay_command(base: Path, overlay: Path) -> list[str]:
    """Make a disk that reads from `base` and keeps what is written for itself."""
    names = ["-F", "raw", "-b", str(base), str(overlay)]
    return ["qemu-img", "create", "-q", "-f", "qcow2", *names]


def _network(tap: str, hardware_address: str) -> list[str]:
    return [
        *("-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=net,romfile=,mac={hardware_address}"),
    ]


def _of_qemu(device: NetworkDevice) -> list[str]:
    """QEMU's own network, in which the host is 10.0.2.2."""
    name = "virtio-net-pci" if device == "virtio" else device
    return ["-netdev", "user,id=user", "-device", f"{name},netdev=user,romfile="]


def disk(folder: Path) -> Path:
    """What a guest writes."""
    return folder / "disk.qcow2"


def agent(folder: Path) -> Path:
    """Socket of the guest agent."""
    return folder / "agent"


def bulk(folder: Path) -> Path:
    """Socket of the port through which files go in."""
    return folder / "bulk"


def monitor(folder: Path) -> Path:
    """Socket of QEMU's own monitor."""
    return folder / "monitor"


def console(folder: Path) -> Path:
    """What the guest's kernel and first programs say."""
    return folder / "console.log"


def escaped(path: Path) -> str:
    """A comma ends a value in QEMU's options, two stand for one."""
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
