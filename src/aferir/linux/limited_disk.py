"""A block device with a limited rate: a loop device on a file, limited by control groups.

In version 1 the limit is set at the root of the blkio hierarchy, so that writeback by the kernel is
limited too. Child groups do not inherit the root's limits, so they are set there as well
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst). In version 2 it is `io.max` of the
instance's group, to which the kernel attributes the writeback of what its members wrote
(Documentation/admin-guide/cgroup-v2.rst, "Writeback"); the root has no such file.
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
from aferir.linux import cgroup, journal, process, seeking_disk, undo, wait
from aferir.linux.journal import Entry

KIND = "loop"
_DIRECTIONS = ("read", "write")
_WAIT_S = 60.0


class Limits(msgspec.Struct, frozen=True):
    """Limits per second for reads, and the same for writes, and the time of a seek; 0: none."""

    bytes_per_s: int = 0
    operations_per_s: int = 0
    """Requests per second, whatever their size: about 100 on a rotating disk, one for each seek."""
    seek_s: float = 0.0
    """Time of a request that does not begin where the one before has ended: see `seeking_disk`."""

    def __bool__(self) -> bool:
        """True if bytes or operations per second are limited; `seek_s` does not count."""
        return bool(self.bytes_per_s or self.operations_per_s)


NO_LIMITS = Limits()


class Disk(msgspec.Struct, frozen=True):
    """A mounted block device with a rate limit; `give_back` takes its entry and removes it."""

    entry: Entry
    device: Path
    folder: Path
    limits: Limits = NO_LIMITS

    def hold(self, groups: Mapping[str, Path]) -> None:
        """Apply the limits to an instance's control groups.

        Errors: OSError if version 2 cannot switch on its `io` controller for the group.
        """
        if not self.limits:
            return
        if "blkio" in groups:
            limit(groups["blkio"], self.device, self.limits)
        elif "unified" in groups:
            cgroup.delegate(groups["unified"].parent, "io")
            limit_unified(groups["unified"], self.device, self.limits)


def mounted(size_bytes: int, limits: Limits = NO_LIMITS) -> Disk:
    """Mount an empty file system on a new device. Errors: MissingError, ProgramError."""
    entry, device = make(size_bytes, limits)
    try:
        return Disk(entry, device, mount(entry, device), limits)
    except BaseException:
        give_back(entry)
        raise


@contextlib.contextmanager
def private(disk: Disk) -> Iterator[str]:
    """Name of a folder on the disk for one run, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=disk.folder))
    try:
        yield folder.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make(size_bytes: int, limits: Limits = NO_LIMITS) -> tuple[Entry, Path]:
    """Make a device, e.g. /dev/loop3; returns its journal entry too. `give_back` removes it.

    Errors: MissingError without root, a loop device or the controller.
    """
    if os.geteuid() != 0:
        raise MissingError("a block device of one's own takes root", remedy="sudo aferir ...")
    have = cgroup.layout()
    root = have.v1.get("blkio")
    if limits and root is None and "io" not in have.v2_controllers:
        raise MissingError(
            "this host has no control groups that limit a device: neither the `blkio` controller"
            " of version 1 nor the `io` controller of version 2",
            remedy="mount -t cgroup2 none /sys/fs/cgroup",
        )
    state = journal.state_folder() / "disks"
    state.mkdir(parents=True, exist_ok=True)
    entry = journal.write(KIND, {"folder": str(state)})
    try:
        with file_of(entry).open("xb") as stream:
            os.posix_fallocate(stream.fileno(), 0, size_bytes)
        device = _attach(entry, limits.seek_s)
        if limits and root is not None:
            limit(root, device, limits)
    except BaseException as error:
        give_back(entry)
        if isinstance(error, OSError):
            raise MissingError(
                f"no disk of {size_bytes} bytes can be made: {error}",
                remedy="free some space, or ask for a smaller one",
            ) from None
        raise
    return entry, device


def _attach(entry: Entry, seek_s: float) -> Path:
    """Attach the entry's file, served with seeks if they take time, to a new loop device."""
    file = file_of(entry)
    backing = seeking_disk.serve(entry, file, seek_s) if seek_s else file
    command = ["losetup", "--find", "--show", "--direct-io=on", str(backing)]
    return Path(process.run(command).stdout.strip())


def mount(entry: Entry, device: Path) -> Path:
    """Mount an empty file system on the device; `give_back` unmounts it. Errors: ProgramError."""
    process.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(device)])
    mount_of(entry).mkdir()
    process.run(["mount", str(device), str(mount_of(entry))])
    return mount_of(entry)


def limit(root: Path, device: Path, limits: Limits) -> None:
    """Limit reads of the device, and likewise writes, by a group of version 1."""
    number = device.stat().st_rdev
    for direction in _DIRECTIONS:
        for what, most in (("bps", limits.bytes_per_s), ("iops", limits.operations_per_s)):
            rule = f"{os.major(number)}:{os.minor(number)} {most}"
            (root / f"blkio.throttle.{direction}_{what}_device").write_text(rule, encoding="ascii")


def limit_unified(group: Path, device: Path, limits: Limits) -> None:
    """Limit reads of the device, and likewise writes, by a group of version 2."""
    number = device.stat().st_rdev
    rate, operations = limits.bytes_per_s or "max", limits.operations_per_s or "max"
    rule = f"{os.major(number)}:{os.minor(number)} rbps={rate} wbps={rate}"
    rule += f" riops={operations} wiops={operations}"
    (group / "io.max").write_text(rule, encoding="ascii")


@contextlib.contextmanager
def attached(size_bytes: int) -> Iterator[Path]:
    """A device without a limit and without a file system, within the block."""
    entry, device = make(size_bytes)
    try:
        yield device
    finally:
        give_back(entry)


def file_of(entry: Entry) -> Path:
    """File that backs the device."""
    return Path(entry.details["folder"]) / f"aferir-{entry.id}.img"


def mount_of(entry: Entry) -> Path:
    """Mount point of the device."""
    return Path(entry.details["folder"]) / f"aferir-{entry.id}"


def give_back(entry: Entry) -> None:
    """Unmount, remove the limit, detach and delete; parts that do not exist are skipped.

    Errors: OSError if something is in use.
    """
    have = cgroup.layout()
    seeking_disk.hurry(file_of(entry))
    for device in _devices(file_of(entry)):  # before what is still to be written back
        _lift(have, device)
    undo.remove_tree(mount_of(entry))
    if not wait.until(lambda: _is_detached(have, file_of(entry)), wait.after(_WAIT_S)):
        raise OSError(f"{file_of(entry)} stays attached to a loop device")
    seeking_disk.give_back(entry, file_of(entry))
    file_of(entry).unlink(missing_ok=True)
    journal.erase(entry)


def _is_detached(have: cgroup.Layout, file: Path) -> bool:
    """Detach all devices of the file; returns True if there was none to detach."""
    devices = _devices(file)
    for device in devices:
        _lift(have, device)
        with contextlib.suppress(AferirError):
            process.run(["losetup", "--detach", str(device)])
    return not devices


def _lift(have: cgroup.Layout, device: Path) -> None:
    if (root := have.v1.get("blkio")) is not None:
        with contextlib.suppress(OSError):
            limit(root, device, NO_LIMITS)
    for file in have.v2.glob("aferir-*/io.max") if have.v2 is not None else ():
        with contextlib.suppress(OSError):
            limit_unified(file.parent, device, NO_LIMITS)


def _devices(file: Path) -> list[Path]:
    """Loop devices on the file itself, or on the file that `seeking_disk` shows instead of it."""
    if not file.exists():
        return []
    backing = {str(file.resolve()), str(seeking_disk.shown(file.resolve()))}
    command = ["losetup", "--noheadings", "--list", "--output", "NAME,BACK-FILE"]
    lines = (line.split(maxsplit=1) for line in process.run(command).stdout.splitlines())
    return [Path(found[0]) for found in lines if len(found) == 2 and found[1].strip() in backing]
