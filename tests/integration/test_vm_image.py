"""A guest from a disk image that aferir has not made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from aferir.environments.base import Environment
from aferir.environments.qemu.spec import GuestSpec
from aferir.errors import ProgramError, UsageError
from aferir.image import userland
from aferir.linux import journal, process, sparse
from tests.integration.support import own_state, usable

pytestmark = pytest.mark.integration

_MIB = 2**20
_BEGIN = 16 * _MIB
"""First byte of the partition with the root."""


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield own_state(tmp_path_factory, patch)


@pytest.fixture(scope="module")
def guests(own: Path) -> Environment:  # noqa: ARG001 - its state is ours
    return usable("vm")


def spec(image: Path) -> GuestSpec:
    return GuestSpec(name="v", kind="vm", cpus=1, memory_bytes=2**28, image=str(image))


def disk_of(folder: Path, root: Path) -> Path:
    """A disk with two partitions, the second of which is a copy of that root."""
    disk, size = folder / "disk.img", root.stat().st_size
    with disk.open("wb") as file:
        file.truncate(_BEGIN + size + _MIB)
    table = f"label: gpt\nstart=2048, size=8192\nstart={_BEGIN // 512}, size={size // 512}\n"
    process.run(["sfdisk", "--quiet", str(disk)], input_text=table)
    sparse.copy_into(disk, root, _BEGIN)
    return disk


@pytest.fixture(scope="module")
def image(guests: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk image of another distribution, without our agent, as qcow2."""
    guests.prepare()
    base = userland.find(userland.host_recipe())
    assert base is not None
    folder = tmp_path_factory.mktemp("image")
    root, mark, script = (folder / name for name in ("root.img", "os-release", "changes"))
    process.run(["cp", "--sparse=always", str(base.disk), str(root)])
    mark.write_text('NAME="Foreign"\nID=foreign\n', encoding="utf-8")
    removed = ("/etc/os-release", "/usr/sbin/qemu-ga", "/usr/sbin/aferir-guest")
    lines = [*(f"rm {path}" for path in removed), f"write {mark} /etc/os-release"]
    script.write_text("\n".join([*lines, ""]), encoding="utf-8")
    process.run(["debugfs", "-w", "-f", str(script), str(root)])
    disk, packed = disk_of(folder, root), folder / "foreign.qcow2"
    process.run(["qemu-img", "convert", "-O", "qcow2", str(disk), str(packed)])
    root.unlink()
    disk.unlink()
    return packed


def test_it_boots_from_the_partition_with_a_distribution_and_writes_beside_it(
    guests: Environment, image: Path, tmp_path: Path
) -> None:
    before = image.stat()
    guest = guests.allocate(spec(image))
    try:
        assert "ID=foreign" in guest.run(["cat", "/etc/os-release"]).stdout
        assert "/dev/vda2 / ext4 rw" in guest.run(["cat", "/proc/mounts"]).stdout
        assert guest.run(["test", "-e", "/usr/sbin/qemu-ga"], check=False).exit_code == 1
        guest.run(["sh", "-c", "echo word > /root/file && sync"])
        guest.get(PurePosixPath("/root/file"), tmp_path / "file")
    finally:
        guest.release()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "word\n"
    assert image.stat().st_mtime_ns == before.st_mtime_ns


def test_an_image_without_a_distribution_or_that_is_not_there_is_told(
    guests: Environment, tmp_path: Path
) -> None:
    before = list(journal.entries())
    with pytest.raises(UsageError, match="none-such cannot be read"):
        guests.allocate(spec(tmp_path / "none-such"))
    empty = tmp_path / "empty.img"
    with empty.open("wb") as file:
        file.truncate(_MIB)
    with pytest.raises(ProgramError, match="no root of a distribution"):
        guests.allocate(spec(empty))
    assert list(journal.entries()) == before
