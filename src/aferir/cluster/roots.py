"""Finds the root file system of a disk, by partition types, LVM metadata and typical files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from aferir.cluster import lvm, partitions
from aferir.cluster.partitions import Partition
from aferir.cluster.workshop import Workshop
from aferir.errors import UsageError
from aferir.linux import process, undo
from aferir.machine import packages

_TRIES = ("ro", "rw", "ro,noload", "ro,norecovery,nouuid")
"""Mount options to try in order: if a file system was not unmounted, mounting it repairs it from
its journal, which writes to the copy.
"""
_SUBVOLUMES = (".", "@", "root", "@root", "@rootfs", "rootfs", "@/.snapshots/1/snapshot")
_COPY_BYTES = 1 << 20
_KINDS = {
    "crypto_LUKS": "it is encrypted",
    "BitLocker": "it is encrypted",
    "linux_raid_member": "it is part of a RAID",
    "LVM2_member": "its LVM volumes cannot be read",
    "zfs_member": "it is of ZFS",
}


class _Place(msgspec.Struct, frozen=True):
    """Place of a possible file system."""

    file: Path
    start: int
    size: int
    name: str
    is_root: bool = False


def copy_root(shop: Workshop, raw: Path, target: Path, name: str) -> None:
    """Copy a disk's root, or its only file system, into the new folder `target`.

    Errors: UsageError with the reason, if the disk has neither.
    """
    whys: list[str] = []
    mounted = shop.folder / f"{raw.stem}.mounted"
    mounted.mkdir()
    others = []
    for place in _places(shop, raw, whys):
        if not _mount(place, mounted):
            whys.append(f"{place.name}: {_why(shop, place)}")
            continue
        inside = next((one for one in _folders(mounted) if has_root(one)), None)
        if inside is not None:
            _copy(shop, inside, target)
            undo.unmount(mounted)
            return
        others.append(place)
        undo.unmount(mounted)
    likely = [place for place in others if place.is_root] or others
    if len(likely) != 1:
        said = "; ".join(whys) or "no partition can have one"
        if others:
            said = f"{len(others)} file systems, and no system of Linux on any"
        raise UsageError(f"{name} holds no root of Linux that this kernel reads: {said}")
    _mount(likely[0], mounted)
    _copy(shop, mounted, target)
    undo.unmount(mounted)


def has_root(folder: Path) -> bool:
    """Whether the folder contains a Linux system, by typical files; links are not followed."""
    marks = ("etc/os-release", "usr/lib/os-release", "sbin/init", "usr/lib/systemd/systemd")
    there = any((folder / mark).is_symlink() or (folder / mark).exists() for mark in marks)
    return there and (folder / "etc").is_dir()


def _folders(mounted: Path) -> Iterator[Path]:
    """The top folder and usual subvolumes of btrfs; links, which may lead outside, are skipped."""
    for name in _SUBVOLUMES:
        inside = mounted / name
        if inside == mounted or inside.resolve() == mounted.resolve() / name:
            yield inside


def _places(shop: Workshop, raw: Path, whys: list[str]) -> Iterator[_Place]:
    found = partitions.of_disk(raw, mark=shop.mark)
    for number, piece in enumerate(found, 1):
        name = "the disk" if len(found) == 1 else f"file system {number}"
        with raw.open("rb") as stream:
            is_physical = lvm.is_physical_volume(stream, piece.start)
        if is_physical:
            yield from _volumes(shop, raw, piece, whys)
        else:
            yield _Place(raw, piece.start, piece.size, name, piece.is_root)


def _volumes(shop: Workshop, raw: Path, piece: Partition, whys: list[str]) -> Iterator[_Place]:
    """Copy each LVM volume to a temporary sparse file in the workshop."""
    with raw.open("rb") as stream:
        try:
            found = lvm.volumes(stream, piece.start)
        except UsageError as error:
            whys.append(error.message)
            return
        for volume in found:
            if volume.missing:
                whys.append(f"volume {volume.name}: {volume.missing}")
                continue
            file = shop.folder / f"{raw.stem}.volume"
            with file.open("wb") as copy:
                for start, size in volume.pieces:
                    _copy_piece(stream, copy, piece.start + start, size)
                copy.truncate(copy.tell())
            yield _Place(file, 0, file.stat().st_size, f"volume {volume.name}")
            file.unlink()


def _copy_piece(stream: BinaryIO, copy: BinaryIO, start: int, size: int) -> None:
    stream.seek(start)
    left = size
    while left > 0:
        part = stream.read(min(_COPY_BYTES, left))
        if not part:
            break
        if part.count(0) == len(part):
            copy.seek(len(part), 1)
        else:
            copy.write(part)
        left -= len(part)
    copy.seek(left, 1)


def _mount(place: _Place, mounted: Path) -> bool:
    limits = f",offset={place.start},sizelimit={place.size}" if place.start else ""
    for how in _TRIES:
        options = f"loop,nodev,nosuid,noexec,{how}{limits}"
        command = ["mount", "-o", options, str(place.file), str(mounted)]
        if process.run(command, timeout_s=120, check=False).exit_code == 0:
            return True
    return False


def _why(shop: Workshop, place: _Place) -> str:
    """Why a place has no file system that can be mounted, by its type according to blkid(8)."""
    command = ["blkid", "-p", "-o", "value", "-s", "TYPE", "-O", str(place.start), str(place.file)]
    variables = {undo.MARK: shop.mark, "PATH": packages.search_path()}
    done = process.run(command, timeout_s=60, environment=variables, check=False)
    kind = done.stdout.strip().splitlines()[:1]
    if not kind:
        return "no file system is known there"
    return _KINDS.get(kind[0], f"this kernel does not read {kind[0]}")


def _copy(shop: Workshop, inside: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    variables = {undo.MARK: shop.mark}
    command = ["cp", "-a", f"{inside}/.", str(target)]
    process.run(command, timeout_s=1800, environment=variables)
