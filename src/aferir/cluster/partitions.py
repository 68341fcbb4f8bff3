"""Candidates for the root partition of a disk, by partition type, the likeliest first.

Sources: UAPI Group, Discoverable Partitions Specification; UEFI 2.10, 5.3 (GUID partition table).
"""

from __future__ import annotations

import platform
import struct
import uuid
from pathlib import Path

import msgspec

from aferir.linux import process, undo
from aferir.machine import packages

_ROOTS = {
    "x86_64": "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709",
    "i686": "44479540-F297-41B2-9AF7-D131D5F0458A",
    "aarch64": "B921B045-1DF0-41C3-AF44-4C6F280D3FAE",
    "armv7l": "69DAD710-2CE4-4E3C-B16C-21A1D49ABED3",
    "riscv64": "72EC70A6-CF74-40E6-BD49-4BDA08E8F224",
    "ppc64le": "C31C45E6-3F39-412E-80FB-4809C4980599",
    "s390x": "5EEAD9A9-FE09-4A1E-A1D7-520D00531306",
}
"""GPT types of root partitions, by machine architecture."""
_USUAL = (
    "83",  # MBR, Linux
    "0FC63DAF-8483-4772-8E79-3D69D8477DE4",  # GPT, Linux
    "8E",  # MBR, LVM
    "E6D6D379-F507-44C2-A23C-238F2A3DF928",  # GPT, LVM
    "FD",  # MBR, RAID
    "A19D880F-05FC-4D3B-A006-743F0F84911E",  # GPT, RAID
)
_NEVER = (
    "5",
    "F",
    "85",  # extended partitions of an MBR
    "82",  # swap
    "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F",
    "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",  # EFI
    "EF",
    "21686148-6449-6E6F-744E-656564454649",  # BIOS boot
    "BC13C2FF-59E6-4262-A352-B275FD6F7172",  # extended boot
    "933AC7E1-2EB4-4F13-B844-0E14E2AEF915",  # home
    "3B8F8425-20E0-4F3B-907F-1A25A76F98E8",  # server data
    "4D21B016-B534-45C2-A9FB-5C16E091FD2D",  # var
    "7EC6F557-3BC5-4ACA-B293-16EF5DF639D1",  # temporary
)


class Partition(msgspec.Struct, frozen=True):
    """A piece of a disk; positions are in bytes."""

    start: int
    size: int
    is_root: bool = False
    """Whether the partition's type is that of a root partition."""


class _Entry(msgspec.Struct, frozen=True):
    """One partition as sfdisk(8) reports it, in sectors."""

    type: str
    start: int
    size: int


class _Table(msgspec.Struct, frozen=True):
    partitions: tuple[_Entry, ...] = ()
    sectorsize: int = 512


class _Told(msgspec.Struct, frozen=True):
    partitiontable: _Table


def table_of(raw: Path, *, mark: str) -> str:
    """Output of `sfdisk --json` for a disk; "" if it finds no partition table."""
    command = ["sfdisk", "--json", str(raw)]
    variables = {undo.MARK: mark, "PATH": packages.search_path()}
    done = process.run(command, timeout_s=60, environment=variables, check=False)
    return done.stdout if done.exit_code == 0 else ""


def of_disk(raw: Path, *, mark: str) -> tuple[Partition, ...]:
    """Candidates for the root, the likeliest first; the whole disk if it has no partitions."""
    size = raw.stat().st_size
    found = candidates(table_of(raw, mark=mark))
    if not found:
        with raw.open("rb") as stream:
            found = by_guid_table(stream.read(1 << 20))
    return found or (Partition(0, size),)


def candidates(told: str) -> tuple[Partition, ...]:
    """Candidates from sfdisk's output: root types first, then types usual for Linux, then others.

    Equal ones are ordered by position. Size is no criterion, as the largest often contains data.
    """
    if not told:
        return ()
    table = msgspec.json.decode(told, type=_Told).partitiontable
    return _ordered(table.partitions, table.sectorsize)


def by_guid_table(head: bytes) -> tuple[Partition, ...]:
    """Candidates from a GUID table that sfdisk rejects: of 4 KiB sectors, or partly damaged."""
    for sector in (512, 4096):
        header = head[sector : sector + 92]
        if header[:8] != b"EFI PART" or len(header) < 92:
            continue
        table, count, size = struct.unpack_from("<QII", header, 72)
        if not 128 <= size <= 4096:
            continue
        entries = []
        for number in range(min(count, 128)):
            entry = head[table * sector + number * size :][:48]
            if len(entry) < 48 or not any(entry[:16]):
                continue
            first, last = struct.unpack_from("<QQ", entry, 32)
            kind = str(uuid.UUID(bytes_le=entry[:16])).upper()
            if first <= last < 1 << 48:
                entries.append(_Entry(kind, first, last - first + 1))
        return _ordered(tuple(entries), sector)
    return ()


def _ordered(entries: tuple[_Entry, ...], sector: int) -> tuple[Partition, ...]:
    found = []
    for entry in entries:
        kind = entry.type.upper()
        if kind in _NEVER or entry.size < 1:
            continue
        rank = 3
        if kind == _ROOTS.get(platform.machine()):
            rank = 0
        elif kind in _ROOTS.values():
            rank = 1
        elif kind in _USUAL:
            rank = 2
        made = Partition(entry.start * sector, entry.size * sector, is_root=rank < 2)
        found.append((rank, made.start, made))
    return tuple(made for _, _, made in sorted(found, key=lambda one: one[:2]))
