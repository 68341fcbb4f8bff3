"""The command line of a guest: pure.

Source: qemu-system-x86_64(1), qemu-block-drivers(7).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from aferir.environments.qemu.hardware import Hardware
from aferir.image import initramfs

Accelerator = Literal["kvm", "tcg", "counted"]
"""Way of running a guest's code. `counted`: emulated, with a clock that counts instructions instead
of following the host's clock.
"""

PROGRAM = "qemu-system-x86_64"
DiskForm = Literal["raw", "qcow2"]
_KERNEL = (
    "console=ttyS0 quiet loglevel=3 nokaslr random.trust_cpu=on panic=-1 cryptomgr.notests "
    "no_timer_check"
)
"""Kernel parameters. quiet: each character on the emulated serial line costs a VM exit. nokaslr: no
relocation. cryptomgr.notests: the kernel's tests of its own ciphers take a sixth of the time that
an emulated guest needs to its first program (0.3 of 1.7 s). no_timer_check: the kernel waits for
ten ticks and panics without them, which an emulated guest does not receive in time on a busy host
(check_timer, io_apic.c); guests of KVM skip the check.
"""
_ACCELERATION = {
    "kvm": ["-accel", "kvm"],
    "tcg": ["-accel", "tcg,thread=multi"],
    # An instruction takes 2 ns (shift=1), and time with nothing to do is skipped (sleep=off).
    "counted": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"],
}


_USUAL = Hardware()
_AGAIN_MS = 100
"""Milliseconds until a firmware that found nothing to boot looks again."""


class Wire(msgspec.Struct, frozen=True):
    """One end of a cable to another guest: Ethernet frames as datagrams between two sockets."""

    local: Path
    remote: Path


_DRIVE = "if=none,id=disk,format=qcow2,backing.file.locking=off"
"""Options of the guest's disk. The backing image is not locked: it is only read, and a guest of
User-Mode Linux may have locked it.
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
    second: Path | None = None,
) -> list[str]:
    """Command of a guest with `folder`/disk.qcow2, and sockets of agent and monitor there.

    Memory is rounded up to whole MiB. `tap` names an interface of the host, and the hardware
    address of the guest's device on it, which is that of `hardware`, or virtio. `wires` make
    interfaces that QEMU's monitor calls wire0, wire1, ... `second` is another disk, with our
    userland for a guest whose main disk has another one, or with what a guest is told.
    """
    return [
        *_machine(name, folder, accelerator, hardware=hardware),
        *_start(kernel, archive, parameters(cpus)),
        *("-smp", _processors(cpus, accelerator)),
        *("-m", f"{-(-memory_bytes // 2**20)}M"),
        *("-drive", f"{_DRIVE},file={escaped(disk(folder))}"),
        *(word for device in hardware.disk() for word in ("-device", device)),
        *(_second(second, hardware) if second is not None else ()),
        *("-device", hardware.virtio("serial", "")),
        *("-chardev", f"socket,id=agent,server=on,wait=off,path={escaped(agent(folder))}"),
        *("-device", f"virtserialport,nr=1,chardev=agent,name={initramfs.AGENT_PORT}"),
        *("-chardev", f"socket,id=bulk,server=on,wait=off,path={escaped(bulk(folder))}"),
        *("-device", "virtserialport,nr=2,chardev=bulk,name=aferir.bulk"),
        *_monitor(folder),
        *(_network(tap, hardware) if tap is not None else _of_qemu(hardware)),
        *(word for number, wire in enumerate(wires) for word in _wire(number, wire)),
    ]


def trial_command(
    *, name: str, folder: Path, kernel: Path, archive: Path, accelerator: Accelerator
) -> list[str]:
    """Command of a guest with a serial line only, which powers off once it has booted."""
    return [
        *_machine(name, folder, accelerator),
        *_start(kernel, archive, f"{parameters(1)} aferir.only=boot"),
        *("-smp", _processors(1, accelerator), "-m", "256M"),
    ]


def network_command(
    *,
    name: str,
    folder: Path,
    cpus: int,
    memory_bytes: int,
    accelerator: Accelerator,
    tap: tuple[str, str],
    hardware: Hardware = _USUAL,
) -> list[str]:
    """Command of a guest that has a network card, whose firmware boots from there, and no disk.

    `tap` as for `command`. Until the monitor's `set-action` says otherwise, a guest whose firmware
    got no answer, or whose kernel ended, starts again.
    """
    return [
        *_machine(name, folder, accelerator, hardware=hardware),
        *("-boot", f"reboot-timeout={_AGAIN_MS}"),
        *("-smp", _processors(cpus, accelerator)),
        *("-m", f"{-(-memory_bytes // 2**20)}M"),
        *_monitor(folder),
        *_network(tap, hardware, firmware=True),
    ]


def parameters(cpus: int) -> str:
    """Parameters for the kernel of a guest with `cpus` processors."""
    return f"{_KERNEL} possible_cpus={cpus}"


def _start(kernel: Path, archive: Path, words: str) -> list[str]:
    files = ["-kernel", str(kernel), "-initrd", str(archive)]
    return ["-no-reboot", *files, "-append", words]


def _monitor(folder: Path) -> list[str]:
    return [
        *("-chardev", f"socket,id=monitor,server=on,wait=off,path={escaped(monitor(folder))}"),
        *("-mon", "chardev=monitor,mode=control"),
    ]


def _processors(cpus: int, accelerator: Accelerator) -> str:
    """Value of `-smp`: one socket with `cpus` cores.

    An emulated guest with one processor has an empty socket for a second one, which its kernel
    never counts (`possible_cpus`). Otherwise QEMU translates without barriers (CF_PARALLEL in its
    tcg-op.c), on which virtio queues depend even then: guest and virtiofsd came to wait for each
    other for ever in three of three guests within twelve minutes, and in none of three with the
    socket in 13 million requests.
    """
    if cpus == 1 and accelerator == "tcg":
        return "1,maxcpus=2,sockets=2,cores=1,threads=1"
    return f"{cpus},sockets=1,cores={cpus},threads=1"


def _wire(number: int, wire: Wire) -> list[str]:
    name = f"wire{number}"
    local = f"local.type=unix,local.path={escaped(wire.local)}"
    remote = f"remote.type=unix,remote.path={escaped(wire.remote)}"
    # 802.3ad adds an interface to a group only if it reports speed and duplex.
    says = "speed=1000,duplex=full"
    device = ["-device", f"virtio-net-pci,netdev={name},id={name}-device,romfile=,{says}"]
    return ["-netdev", f"dgram,id={name},{local},{remote}", *device]


def _second(disk: Path, hardware: Hardware) -> list[str]:
    drive = "if=none,id=second,format=raw,readonly=on,file.locking=off"
    device = hardware.virtio("blk", ",drive=second")
    return ["-drive", f"{drive},file={escaped(disk)}", "-device", device]


def overlay_command(base: Path, overlay: Path, form: DiskForm = "raw") -> list[str]:
    """Command that makes a copy-on-write disk on top of `base`, whose format is `form`."""
    names = ["-F", form, "-b", str(base), str(overlay)]
    return ["qemu-img", "create", "-q", "-f", "qcow2", *names]


def _network(tap: tuple[str, str], hardware: Hardware, *, firmware: bool = False) -> list[str]:
    interface, hardware_address = tap
    return [
        *("-netdev", f"tap,id=net,ifname={interface},script=no,downscript=no"),
        *("-device", f"{hardware.network('net', firmware=firmware)},mac={hardware_address}"),
    ]


def _of_qemu(hardware: Hardware) -> list[str]:
    """Options of QEMU's user network, in which the host is 10.0.2.2; empty without a device."""
    if hardware.network_device == "none":
        return []
    return ["-netdev", "user,id=user", "-device", hardware.network("user")]


def disk(folder: Path) -> Path:
    """Path of the disk that holds what a guest writes."""
    return folder / "disk.qcow2"


def agent(folder: Path) -> Path:
    """Path of the guest agent's socket."""
    return folder / "agent"


def bulk(folder: Path) -> Path:
    """Path of the socket of the port through which files are copied in."""
    return folder / "bulk"


def monitor(folder: Path) -> Path:
    """Path of the socket of QEMU's monitor."""
    return folder / "monitor"


def console(folder: Path) -> Path:
    """Path of the file with the console output of the guest's kernel and first programs."""
    return folder / "console.log"


def escaped(path: Path) -> str:
    """Escape commas, which end a value in QEMU's options."""
    return str(path).replace(",", ",,")


def _machine(
    name: str,
    folder: Path,
    accelerator: Accelerator,
    *,
    hardware: Hardware = _USUAL,
) -> list[str]:
    everything = "host" if accelerator == "kvm" else "max"
    return [
        PROGRAM,
        *("-name", name, "-nodefaults", "-no-user-config", "-display", "none"),
        *("-machine", hardware.board.options),
        *_ACCELERATION[accelerator],
        *("-cpu", hardware.cpu_model or everything),
        *("-chardev", f"file,id=console,path={escaped(console(folder))}"),
        *("-serial", "chardev:console"),
    ]
