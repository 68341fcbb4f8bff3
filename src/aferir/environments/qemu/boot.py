"""Selects the kernel and initramfs for a guest's hardware, and makes its disk."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.environments.qemu import command_line
from aferir.environments.qemu.hardware import DISK_NAMES, Hardware, tools_name
from aferir.errors import MissingError, UsageError
from aferir.image import initramfs, kernels, plain_kernel
from aferir.image.progress import Progress
from aferir.image.userland import Image
from aferir.linux import process
from aferir.machine import packages

_LIMIT_S = 300.0
_QCOW2 = b"QFI\xfb"
"""First bytes of an image in QEMU's own form (docs/interop/qcow2.txt)."""


class Start(msgspec.Struct, frozen=True):
    """Kernel and initramfs with which a guest starts."""

    kernel: Path
    archive: bytes


def start(
    hardware: Hardware,
    base: Image,
    accelerator: command_line.Accelerator,
    progress: Progress,
    *,
    foreign: bool = False,
    seeded: bool = False,
) -> Start:
    """Kernel and initramfs with the drivers that the hardware needs.

    `foreign`: the disk has a root that is not ours, such as a distribution's image; `seeded`: it
    has a first program of its own. Errors: UsageError for a kernel that is no file, MissingError.
    """
    own = base.initramfs.read_bytes()
    kernel = form(base.kernel, accelerator)
    if hardware.wants_whole_kernel():
        found = kernels.fetched(progress)
        kernel, own = form(found.program, accelerator), kernels.archive(found, own)
    elif hardware.kernel:
        kernel = Path(hardware.kernel)
        if not kernel.is_file():
            raise UsageError(f"the kernel {kernel} is no file", remedy="name a bzImage, or `whole`")
    if foreign:
        own = initramfs.with_foreign_root(own, tools_name(hardware.disk_device))
    elif not seeded:
        own = initramfs.with_mortal_init(own)
    if (name := DISK_NAMES[hardware.disk_device]) != "vda":
        own = initramfs.with_disk(own, name)
    if hardware.network_device != "none":
        own = initramfs.with_network(own)
    return Start(kernel, own)


def form(kernel: Path, accelerator: command_line.Accelerator) -> Path:
    """The file of one of our kernels with which a guest starts; see `plain_kernel`."""
    return kernel if accelerator == "kvm" else plain_kernel.beside(kernel)


def _form_of(image: Path) -> command_line.DiskForm:
    """Format of a disk image, as QEMU names it. Errors: UsageError if it cannot be read."""
    try:
        with image.open("rb") as file:
            return "qcow2" if file.read(len(_QCOW2)) == _QCOW2 else "raw"
    except OSError as reason:
        raise UsageError(
            f"the image {image} cannot be read: {reason.strerror}",
            remedy="name a disk image, raw or qcow2",
        ) from None


def make_disk(folder: Path, base: Path, size_bytes: int, image: str = "") -> None:
    """Make the guest's disk in `folder`: an overlay on `base`, or on a larger copy of it.

    `image` is the user's, raw or qcow2, and replaces `base`. Errors: UsageError for a smaller disk,
    or an image that cannot be read; MissingError without the means to enlarge it.
    """
    form: command_line.DiskForm = "raw"
    if image:
        base = Path(image).resolve()
        form = _form_of(base)
    elif size_bytes:
        base = _larger(folder, base, size_bytes)
    process.run(command_line.overlay_command(base, command_line.disk(folder), form), timeout_s=120)


def _larger(folder: Path, base: Path, size_bytes: int) -> Path:
    has = base.stat().st_size
    if size_bytes < has:
        raise UsageError(
            f"a disk of {size_bytes} bytes has no room for the image, which is one of {has}",
            remedy=f'disk_size = "{-(-has // 2**30)} GiB", or more',
        )
    if absent := packages.missing(["resize2fs"]):
        raise MissingError(
            "resize2fs, which makes a file system larger, is not installed",
            remedy=packages.install_command(absent),
        )
    copy = folder / "base.img"
    process.run(["cp", "--sparse=always", str(base), str(copy)], timeout_s=_LIMIT_S)
    with copy.open("r+b") as file:
        file.truncate(size_bytes // 4096 * 4096)
    process.run(["resize2fs", str(copy)], timeout_s=_LIMIT_S)
    return copy
