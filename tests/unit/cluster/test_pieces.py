"""Disks of a package that are compressed or in pieces."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from aferir.cluster import ova, ovf
from aferir.errors import UsageError

DISK = bytes(range(256)) * 9
PACKED = gzip.compress(DISK)


def package(path: Path, attributes: str, files: dict[str, bytes]) -> Path:
    """An OVA of another tool with one disk, `d.vmdk`."""
    told = (
        f'<Envelope xmlns="{ovf.OVF}" xmlns:ovf="{ovf.OVF}"><References>'
        f'<File ovf:href="d.vmdk" ovf:id="f" {attributes}/></References>'
        '<DiskSection><Disk ovf:diskId="d" ovf:fileRef="f" ovf:capacity="9"/></DiskSection>'
        "</Envelope>"
    )
    with tarfile.open(path, "w") as tar:
        for name, content in {"p.ovf": told.encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def pieces(content: bytes, size: int) -> dict[str, bytes]:
    places = range(0, len(content), size)
    return {f"d.vmdk.{n:09}": content[at : at + size] for n, at in enumerate(places)}


@pytest.mark.parametrize(
    ("attributes", "files"),
    [
        ('ovf:compression="gzip"', {"d.vmdk": PACKED}),
        (f'ovf:compression="gzip" ovf:size="{len(PACKED)}"', {"d.vmdk": PACKED}),
        (f'ovf:compression="gzip" ovf:size="{len(DISK)}"', {"d.vmdk": PACKED}),
        (f'ovf:chunkSize="1000" ovf:size="{len(DISK)}"', pieces(DISK, 1000)),
        ('ovf:chunkSize="1000"', pieces(DISK, 1000)),
        ('ovf:compression="gzip" ovf:chunkSize="100"', pieces(PACKED, 100)),
        ('ovf:compression="identity" ovf:chunkSize="0"', {"d.vmdk": DISK}),
    ],
)
def test_a_disk_is_made_whole_again(
    tmp_path: Path, attributes: str, files: dict[str, bytes]
) -> None:
    source, folder = package(tmp_path / "p.ova", attributes, files), tmp_path / "out"
    folder.mkdir()
    ova.unpack(source, folder)
    assert (folder / "d.vmdk").read_bytes() == DISK
    assert sorted(one.name for one in folder.iterdir()) == ["d.vmdk", "p.ovf"]


@pytest.mark.parametrize(
    ("attributes", "files", "reason"),
    [
        ('ovf:compression="gzip"', {"d.vmdk": DISK}, "no gzip"),
        ('ovf:compression="gzip"', {"d.vmdk": PACKED[:-9]}, "no gzip"),
        ('ovf:compression="bzip2"', {"d.vmdk": DISK}, "only gzip"),
        ('ovf:chunkSize="-1"', {"d.vmdk": DISK}, "pieces of -1 bytes"),
        ('ovf:chunkSize="1000"', {"d.vmdk": DISK}, "whole and in pieces"),
        (
            'ovf:chunkSize="1000"',
            {"d.vmdk": DISK, **pieces(DISK, 1000)},
            "whole and in pieces",
        ),
        (
            f'ovf:chunkSize="1000" ovf:size="{len(DISK)}"',
            {"d.vmdk.000000000": DISK[:1000]},
            "1000 bytes instead of",
        ),
        ('ovf:chunkSize="1000"', {"d.vmdk.000000001": DISK[:1000]}, "d.vmdk is missing"),
    ],
)
def test_what_is_no_such_disk_is_refused_as_that(
    tmp_path: Path, attributes: str, files: dict[str, bytes], reason: str
) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match=reason):
        ova.unpack(package(tmp_path / "p.ova", attributes, files), tmp_path / "out")
