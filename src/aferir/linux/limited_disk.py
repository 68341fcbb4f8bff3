"""A block device of our own on a file, as slow as one likes: a loop device and a control group.

The limit is set at the root of the blkio hierarchy, version 1, so that what the kernel writes back
later is held to it, too. Groups below know nothing of their root's limits, and have to be told
theirs (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from aferir.errors import AferirError, MissingError
from aferir.linux import cgroup, journal, process, undo, wait
from aferir.linux.journal import Entry

KIND = "loop"
_DIRECTIONS = ("read", "write")
_WAIT_S = 10.0


class Disk(msgspec.Struct, frozen=True):
    """One that is mounted; `give_back` its entry."""

    entry: Entry
    device: Path
    folder: Path
    bytes_per_s: int
    """0: as many as it can."""

    def hold(self, groups: Mapping[str, Path]) -> None:
        """Hold the members of an instance's control groups to the rate, too."""
        if self.bytes_per_s and "blkio" in groups:
            limit(groups["blkio"], self.device, self.bytes_per_s)


def mounted(size_bytes: int, bytes_per_s: int) -> Disk:
    """An empty file system on a device of its own. Errors: MissingError, ProgramError."""
    entry, device = make(size_bytes, bytes_per_s or None)
    try:
        return Disk(entry, device, mount(entry, device), bytes_per_s)
    except BaseException:
        give_back(entry)
        raise


@contextlib.contextmanager
def private(disk: Disk) -> Iterator[str]:
    """Name of a folder on it for one run, which is gone in the end with what is in it."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=disk.folder))
    try:
        yield folder.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make(size_bytes: int, bytes_per_s: int | None = None) -> tuple[Entry, Path]:
    """A journal's entry, and the device, e.g. /dev/loop3. `give_back` takes it away.

    Errors: MissingError without root, a loop device or the controller.
    """
    if os.geteuid() != 0:
        raise MissingError("a block device of one's own takes root", remedy="sudo aferir ...")
    root = cgroup.layout().v1.get("blkio")
    if bytes_per_s is not None and root is None:
        raise MissingError(
            "this host mounts no `blkio` controller of version 1, which limits a device",
            remedy="mount -t cgroup -o blkio none /sys/fs/cgroup/blkio",
        )
    state = journal.state_folder() / "disks"
    state.mkdir(parents=True, exist_ok=True)
    entry = journal.write(KIND, {"folder": str(state)})
    try:
        with file_of(entry).open("xb") as stream:
            os.posix_fallocate(stream.fileno(), 0, size_bytes)
        command = ["losetup", "--find", "--show", "--direct-io=on", str(file_of(entry))]
        device = Path(process.run(command).stdout.strip())
        if bytes_per_s is not None and root is not None:
            limit(root, device, bytes_per_s)
    except BaseException as error:
        give_back(entry)
        if isinstance(error, OSError):
            raise MissingError(
                f"no disk of {size_bytes} bytes can be made: {error}",
                remedy="free some space, or ask for a smaller one",
            ) from None
        raise
    return entry, device


def mount(entry: Entry, device: Path) -> Path:
    """An empty file system on it, mounted; `give_back` unmounts it. Errors: ProgramError."""
    process.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(device)])
    mount_of(entry).mkdir()
    process.run(["mount", str(device), str(mount_of(entry))])
    return mount_of(entry)


def limit(root: Path, device: Path, bytes_per_s: int) -> None:
    """Hold all that reads and writes the device to so many bytes a second; 0: to none."""
    number = device.stat().st_rdev
    for direction in _DIRECTIONS:
        rule = f"{os.major(number)}:{os.minor(number)} {bytes_per_s}"
        (root / f"blkio.throttle.{direction}_bps_device").write_text(rule, encoding="ascii")


@contextlib.contextmanager
def attached(size_bytes: int) -> Iterator[Path]:
    """A device without a limit and without files, for as long as the block runs."""
    entry, device = make(size_bytes)
    try:
        yield device
    finally:
        give_back(entry)


def file_of(entry: Entry) -> Path:
    """What holds the device's bytes."""
    return Path(entry.details["folder"]) / f"aferir-{entry.id}.img"


def mount_of(entry: Entry) -> Path:
    """Where it is mounted, if it is."""
    return Path(entry.details["folder"]) / f"aferir-{entry.id}"


def give_back(entry: Entry) -> None:
    """Unmount, lift the limit, detach and remove; what is not there is passed over.

    Errors: OSError where something keeps it.
    """
    root = cgroup.layout().v1.get("blkio")
    for device in _devices(file_of(entry)):  # before what is still to be written back
        _lift(root, device)
    undo.remove_tree(mount_of(entry))
    if not wait.until(lambda: _is_detached(root, file_of(entry)), wait.after(_WAIT_S)):
        raise OSError(f"{file_of(entry)} stays attached to a loop device")
    file_of(entry).unlink(missing_ok=True)
    journal.erase(entry)


def _is_detached(root: Path | None, file: Path) -> bool:
    """Detach what is there still; whether nothing was."""
    devices = _devices(file)
    for device in devices:
        _lift(root, device)
        with contextlib.suppress(AferirError):
            process.run(["losetup", "--detach", str(device)])
    return not devices


def _lift(root: Path | None, device: Path) -> None:
    if root is not None:
        with contextlib.suppress(OSError):
            limit(root, device, 0)


def _devices(file: Path) -> list[Path]:
    if not file.exists():
        return []
    command = ["losetup", "--noheadings", "--output", "NAME", "--associated", str(file)]
    return [Path(line.strip()) for line in process.run(command).stdout.split()]
