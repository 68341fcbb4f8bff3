"""Folders as disk images and back: ext4 in VMDK, the one form that every OVF tool reads.

Source: VMware Virtual Disk Format 1.1 (header of a sparse extent); UAPI Group, Discoverable
Partitions Specification (types of partitions).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.cluster.workshop import Workshop
from aferir.errors import UsageError
from aferir.linux import process, undo
from aferir.machine import packages

PROGRAMS = ("qemu-img", "mke2fs", "e2fsck", "mount", "umount", "cp", "sfdisk")
_TIME_LIMIT_S = 1800.0
_TO_VMDK = ("-O", "vmdk", "-o", "subformat=streamOptimized")
_SMALLEST = 4 << 30
"""Bytes of a disk; sparse: what is not written costs nothing."""
_HEAD_BYTES = 20
"""Of a VMDK: its magic and its capacity."""
_MAGIC = b"KDMV"
_LINUX = {
    "83": "MBR, Linux",
    "0FC63DAF-8483-4772-8E79-3D69D8477DE4": "GPT, Linux",
    "44479540-F297-41B2-9AF7-D131D5F0458A": "GPT, root of x86",
    "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709": "GPT, root of x86-64",
    "69DAD710-2CE4-4E3C-B16C-21A1D49ABED3": "GPT, root of 32-bit ARM",
    "B921B045-1DF0-41C3-AF44-4C6F280D3FAE": "GPT, root of 64-bit ARM",
}
"""Types of partitions that hold a file system of Linux with its root."""


class Partition(msgspec.Struct, frozen=True):
    """A piece of a disk, in bytes."""

    start: int
    size: int


def from_folder(shop: Workshop, folder: Path, target: Path) -> int:
    """Make a disk of what is in `folder`; its size as a guest sees it."""
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
    """Make a VMDK of a disk."""
    _run(shop, ["qemu-img", "convert", "-f", "raw", *_TO_VMDK, str(raw), str(target)])


def from_qcow2(shop: Workshop, disk: Path, target: Path) -> None:
    """Make a VMDK of a guest's disk and what it is based on; the guest stands still."""
    _run(shop, ["qemu-img", "convert", "-U", "-f", "qcow2", *_TO_VMDK, str(disk), str(target)])


def capacity(shop: Workshop, image: Path) -> int:
    """What a guest sees of a VMDK, in bytes."""
    done = _run(shop, ["qemu-img", "info", "-f", "vmdk", "--output=json", str(image)])
    return int(msgspec.json.decode(done)["virtual-size"])


def to_raw(shop: Workshop, image: Path, target: Path) -> None:
    """Make a raw disk of a VMDK, and mend its file system where that was not unmounted.

    Errors: UsageError where it is no VMDK, or leads to other files of this machine.
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
    """Copy what is on a disk's root file system into the folder `target`, made here.

    Errors: UsageError as of `to_raw`, and where no file system of Linux is on it.
    """
    raw = shop.folder / f"{image.stem}.raw"
    to_raw(shop, image, raw)
    found = partition(table_of(raw, mark=shop.mark))
    mounted = shop.folder / f"{image.stem}.mounted"
    mounted.mkdir()
    limits = f",offset={found.start},sizelimit={found.size}" if found else ""
    options = f"loop,ro,nodev,nosuid,noexec{limits}"
    done = process.run(["mount", "-o", options, str(raw), str(mounted)], timeout_s=120, check=False)
    if done.exit_code != 0:
        raise UsageError(f"{image.name} holds no file system that this kernel reads")
    target.mkdir(parents=True, exist_ok=True)
    _run(shop, ["cp", "-a", f"{mounted}/.", str(target)])
    undo.unmount(mounted)
    raw.unlink()


def check_vmdk(head: bytes, name: str) -> None:
    """Errors: UsageError where a file is no VMDK with its data in it.

    One with a capacity of 0 is but a list of other files.
    """
    if len(head) < _HEAD_BYTES or head[:4] != _MAGIC:
        raise UsageError(f"{name} is no disk image in VMDK form")
    if struct.unpack_from("<Q", head, 12)[0] == 0:
        raise UsageError(f"{name} is not complete: its data are in other files")


class _Entry(msgspec.Struct, frozen=True):
    """One partition as sfdisk(8) tells of it, in sectors."""

    type: str
    start: int
    size: int


class _Table(msgspec.Struct, frozen=True):
    partitions: tuple[_Entry, ...] = ()
    sectorsize: int = 512


class _Told(msgspec.Struct, frozen=True):
    partitiontable: _Table


def table_of(raw: Path, *, mark: str) -> str:
    """What `sfdisk --json` says of a disk; empty where it finds no partition table."""
    command = ["sfdisk", "--json", str(raw)]
    variables = {undo.MARK: mark, "PATH": packages.search_path()}
    done = process.run(command, timeout_s=60, environment=variables, check=False)
    return done.stdout if done.exit_code == 0 else ""


def partition(told: str) -> Partition | None:
    """The largest partition of Linux, from what sfdisk told; None: the disk has none."""
    if not told:
        return None
    table = msgspec.json.decode(told, type=_Told).partitiontable
    found = [
        Partition(entry.start * table.sectorsize, entry.size * table.sectorsize)
        for entry in table.partitions
        if entry.type.upper() in _LINUX
    ]
    return max(found, key=lambda one: one.size, default=None)


def _run(shop: Workshop, command: Sequence[str]) -> str:
    variables = {undo.MARK: shop.mark, "PATH": packages.search_path()}
    return process.run(command, timeout_s=_TIME_LIMIT_S, environment=variables).stdout
