"""Converts folders to disk images and back: ext4 in VMDK, the one format that all OVF tools read.

Source: VMware Virtual Disk Format 1.1 (header of a sparse extent).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.cluster import roots
from aferir.cluster.workshop import Workshop
from aferir.errors import UsageError
from aferir.linux import process, undo
from aferir.machine import packages

PROGRAMS = ("qemu-img", "mke2fs", "e2fsck", "mount", "umount", "cp", "sfdisk", "blkid")
_TIME_LIMIT_S = 1800.0
_TO_VMDK = ("-O", "vmdk", "-o", "subformat=streamOptimized")
_SMALLEST = 4 << 30
"""Smallest size of a disk in bytes; the file is sparse, so unused space costs nothing."""
_HEAD_BYTES = 20
"""Number of bytes at the start of a VMDK that contain its magic number and its capacity."""
_MAGIC = b"KDMV"


def from_folder(shop: Workshop, folder: Path, target: Path) -> int:
    """Create a disk with the contents of `folder`; returns the size in bytes that a guest sees."""
    raw = shop.folder / f"{target.stem}.raw"
    used = sum(path.lstat().st_size for path in folder.rglob("*"))
    size = max(_SMALLEST, 2 * used)
    command = ["mke2fs", "-q", "-t", "ext4", "-m", "0", "-O", "^has_journal,^resize_inode"]
    command += ["-E", "lazy_itable_init=1,nodiscard,root_owner=0:0", "-d", str(folder)]
    _run(shop, [*command, str(raw), f"{size >> 20}M"])
    from_raw(shop, raw, target)
    raw.unlink()
    return size >> 20 << 20


def from_raw(shop: Workshop, raw: Path, target: Path) -> None:
    """Convert a raw disk to VMDK."""
    _run(shop, ["qemu-img", "convert", "-f", "raw", *_TO_VMDK, str(raw), str(target)])


def from_qcow2(shop: Workshop, disk: Path, target: Path) -> None:
    """Convert a guest's disk, with its backing file, to VMDK; the guest must be paused."""
    _run(shop, ["qemu-img", "convert", "-U", "-f", "qcow2", *_TO_VMDK, str(disk), str(target)])


def capacity(shop: Workshop, image: Path) -> int:
    """Size of a VMDK in bytes, as a guest sees it."""
    done = _run(shop, ["qemu-img", "info", "-f", "vmdk", "--output=json", str(image)])
    return int(msgspec.json.decode(done)["virtual-size"])


def to_raw(shop: Workshop, image: Path, target: Path) -> None:
    """Convert a VMDK to a raw disk.

    Errors: UsageError if the file is not a VMDK, or refers to other files of this machine.
    """
    with image.open("rb") as stream:
        check_vmdk(stream.read(_HEAD_BYTES), image.name)
    told = msgspec.json.decode(
        _run(shop, ["qemu-img", "info", "-f", "vmdk", "--output=json", str(image)])
    )
    extents = told.get("format-specific", {}).get("data", {}).get("extents", [])
    if "backing-filename" in told or any(e["filename"] != str(image) for e in extents):
        raise UsageError(f"{image.name} is not complete: it is made of several files")
    _run(shop, ["qemu-img", "convert", "-f", "vmdk", "-O", "raw", str(image), str(target)])


def to_folder(shop: Workshop, image: Path, target: Path) -> None:
    """Copy the contents of a disk's root file system into the new folder `target`.

    Errors: UsageError as for `to_raw`, or with the reason if there is no root file system.
    """
    raw = shop.folder / f"{image.stem}.raw"
    to_raw(shop, image, raw)
    roots.copy_root(shop, raw, target, image.name)
    raw.unlink()


def check_vmdk(head: bytes, name: str) -> None:
    """Check that a file is a VMDK that contains its data. Errors: UsageError if it is not.

    A VMDK with a capacity of 0 only lists other files.
    """
    if len(head) < _HEAD_BYTES or head[:4] != _MAGIC:
        raise UsageError(f"{name} is no disk image in VMDK form")
    if struct.unpack_from("<Q", head, 12)[0] == 0:
        raise UsageError(f"{name} is not complete: its data are in other files")


def _run(shop: Workshop, command: Sequence[str]) -> str:
    variables = {undo.MARK: shop.mark, "PATH": packages.search_path()}
    return process.run(command, timeout_s=_TIME_LIMIT_S, environment=variables).stdout
