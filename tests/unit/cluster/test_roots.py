"""The root of a disk is found by partition types, LVM and content, not by size."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.cluster import lvm, partitions, roots
from aferir.cluster.partitions import Partition
from aferir.cluster.workshop import workshop
from aferir.errors import UsageError
from aferir.machine import packages
from tests.unit.cluster import lvm_disk

DATA = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
ROOT = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"
ROOT_ARM = "B921B045-1DF0-41C3-AF44-4C6F280D3FAE"
HOME = "933AC7E1-2EB4-4F13-B844-0E14E2AEF915"
SWAP = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F"
ESP = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
LVM = "E6D6D379-F507-44C2-A23C-238F2A3DF928"
SECTOR = 512
MIB = 1 << 20
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")


def disk(folder: Path, script: str, size: int = 16 * MIB) -> Path:
    """A disk that sfdisk(8) partitions by that script."""
    raw = folder / "disk.raw"
    with raw.open("wb") as stream:
        stream.truncate(size)
    if script:
        variables = {"PATH": packages.search_path()}
        command = ["sfdisk", "--quiet", str(raw)]
        subprocess.run(command, input=script, text=True, check=True, env=variables)
    return raw


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("label: dos\n2048,100,82\n4096,100,83\n8192,200,83\n", [4096, 8192]),
        ("label: dos\n2048,100,7\n4096,100,83\n", [4096, 2048]),
        ("label: dos\n2048,20000,5\n4096,300,83\n", [4096]),
        ("label: dos\n2048,100,83\n4096,200,8e\n", [2048, 4096]),
        (f"label: gpt\n2048,4096,{DATA}\n8192,8,{SWAP}\n", [2048]),
        (f"label: gpt\n2048,2048,{ROOT}\n8192,8192,{DATA}\n", [2048, 8192]),
        (f"label: gpt\n2048,4096,{DATA}\n8192,16,{ROOT}\n", [8192, 2048]),
        (f"label: gpt\n2048,16,{ROOT_ARM}\n4096,16,{ROOT}\n8192,4096,{DATA}\n", [4096, 2048, 8192]),
        (f"label: gpt\n2048,12288,{ROOT}\n14336,2048,{ESP}\n", [2048]),
        (f"label: gpt\n2048,16,{ESP}\n4096,16,{LVM}\n8192,16384,{HOME}\n", [4096]),
    ],
)
def test_the_likeliest_partition_comes_first(
    tmp_path: Path, script: str, found: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    raw = disk(tmp_path, script)
    assert [one.start // SECTOR for one in partitions.of_disk(raw, mark="test")] == found


def test_a_disk_without_partitions_is_one_piece(tmp_path: Path) -> None:
    assert partitions.of_disk(disk(tmp_path, ""), mark="test") == (Partition(0, 16 * MIB),)


def test_a_guid_table_of_large_sectors_or_without_its_protection_is_read() -> None:
    for sector in (512, 4096):
        head = bytearray(64 * 4096)
        head[sector : sector + 8] = b"EFI PART"
        struct.pack_into("<QII", head, sector + 72, 2, 128, 128)
        for number, (kind, first, last) in enumerate([(ESP, 64, 99), (ROOT, 100, 199)]):
            at = 2 * sector + number * 128
            head[at : at + 16] = uuid.UUID(kind).bytes_le
            struct.pack_into("<QQ", head, at + 32, first, last)
        [found] = partitions.by_guid_table(bytes(head))
        assert found == Partition(100 * sector, 100 * sector, is_root=True)
    assert partitions.by_guid_table(b"") == ()


@given(st.binary(max_size=34 * 512))
@settings(max_examples=20)
def test_no_partition_table_breaks_the_reader(head: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "disk"
        raw.write_bytes(head)
        partitions.of_disk(raw, mark="test")
        partitions.by_guid_table(bytes(512) + b"EFI PART" + head)


@pytest.mark.parametrize("goes_round", [False, True])
def test_volumes_of_lvm_are_read_from_their_metadata(*, goes_round: bool) -> None:
    made = lvm_disk.physical_volume(
        8 * MIB,
        {
            "swap": [("pv0", 0, 1)],
            "root": [("pv0", 3, 2), ("pv0", 1, 1)],
            "far": [("pv1", 0, 1)],
            "mirror": [("raid1", 0, 1)],
        },
        goes_round=goes_round,
    )
    stream = io.BytesIO(bytes(SECTOR) + made)
    assert lvm.is_physical_volume(stream, SECTOR)
    found = {one.name: one for one in lvm.volumes(stream, SECTOR)}
    assert found["root"].pieces == ((4 * MIB, 2 * MIB), (2 * MIB, MIB))
    assert found["far"].missing == "a part of it is on another disk"
    assert found["mirror"].missing == "it is of type raid1"


@settings(max_examples=50)
@given(st.data())
def test_no_damaged_metadata_make_it_fall_over(data: st.DataObject) -> None:
    made = lvm_disk.physical_volume(2 * MIB, {"root": [("pv0", 0, 1)]})
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(512, 6500))
        made[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UsageError):
        lvm.volumes(io.BytesIO(made), 0)


@given(st.text(max_size=80) | st.lists(st.sampled_from(list('{}[]=," a1\n#'))).map("".join))
def test_no_text_makes_the_reader_of_metadata_fall_over(text: str) -> None:
    with contextlib.suppress(ValueError):
        lvm.parse(text)


def file_system(folder: Path, *, is_root: bool, size: int = 4 * MIB) -> bytes:
    """Make an ext4 file system that holds a system, or data alone."""
    tree = folder / ("root" if is_root else "data")
    (tree / "etc").mkdir(parents=True, exist_ok=True)
    (tree / "etc" / ("os-release" if is_root else "hosts")).write_text("ID=x\n", encoding="ascii")
    image = folder / "image"
    image.unlink(missing_ok=True)
    command = ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(image), f"{size >> 10}k"]
    subprocess.run(command, check=True, env={"PATH": packages.search_path()})
    return image.read_bytes()


def put(raw: Path, sector: int, content: bytes) -> None:
    with raw.open("r+b") as stream:
        stream.seek(sector * SECTOR)
        stream.write(content)


def copied(folder: Path, raw: Path) -> set[str]:
    with workshop(folder) as shop:
        roots.copy_root(shop, raw, shop.folder / "out", "lab.vmdk")
        return {path.name for path in (shop.folder / "out/etc").iterdir()}


@needs_root
def test_the_root_is_where_a_system_is_and_not_where_there_is_most_room(tmp_path: Path) -> None:
    raw = disk(tmp_path, "label: dos\n2048,16384,83\n20480,8192,83\n")
    put(raw, 2048, file_system(tmp_path, is_root=False, size=8 * MIB))
    put(raw, 20480, file_system(tmp_path, is_root=True))
    assert copied(tmp_path, raw) == {"os-release"}


@needs_root
def test_a_root_in_pieces_of_lvm_is_put_together(tmp_path: Path) -> None:
    raw = disk(tmp_path, f"label: gpt\n2048,2048,{ESP}\n4096,26624,{LVM}\n")
    made = lvm_disk.physical_volume(
        13 * MIB, {"data": [("pv0", 0, 4)], "root": [("pv0", 8, 3), ("pv0", 4, 1)]}
    )
    data, root = (file_system(tmp_path, is_root=one) for one in (False, True))
    first = lvm_disk.FIRST
    made[first : first + 4 * MIB] = data
    made[first + 8 * MIB : first + 11 * MIB] = root[: 3 * MIB]
    made[first + 4 * MIB : first + 5 * MIB] = root[3 * MIB :]
    put(raw, 4096, bytes(made))
    assert copied(tmp_path, raw) == {"os-release"}


@needs_root
def test_a_file_system_alone_is_taken_whatever_is_on_it(tmp_path: Path) -> None:
    raw = disk(tmp_path, "", 4 * MIB)
    put(raw, 0, file_system(tmp_path, is_root=False))
    assert copied(tmp_path, raw) == {"hosts"}


@needs_root
def test_where_there_is_no_root_the_reason_is_the_true_one(tmp_path: Path) -> None:
    raw = disk(tmp_path, f"label: gpt\n2048,8192,{DATA}\n10240,8192,{DATA}\n")
    with pytest.raises(UsageError, match="no file system is known there"):
        copied(tmp_path, raw)
    luks = b"LUKS\xba\xbe" + struct.pack(">H", 1) + b"aes".ljust(32, b"\0") + b"xts-plain64"
    put(raw, 2048, luks.ljust(1024, b"\0"))
    with pytest.raises(UsageError, match="file system 1: it is encrypted"):
        copied(tmp_path, raw)
    for sector in (2048, 10240):
        put(raw, sector, file_system(tmp_path, is_root=False))
    with pytest.raises(UsageError, match="2 file systems, and no system of Linux on any"):
        copied(tmp_path, raw)
    volumes = {"root": [("pv1", 0, 1)]}
    put(raw, 2048, bytes(lvm_disk.physical_volume(2 * MIB, volumes)))
    put(raw, 10240, bytes(4 * MIB))
    with pytest.raises(UsageError, match="volume root: a part of it is on another disk"):
        copied(tmp_path, raw)


def test_a_system_is_known_by_what_is_in_it_and_no_link_leads_out(tmp_path: Path) -> None:
    assert not roots.has_root(tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").symlink_to("../usr/lib/os-release")
    assert roots.has_root(tmp_path)
