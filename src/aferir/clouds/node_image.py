"""Makes the image of a Node for a cloud: a disk with a service on it, and files to boot it.

Some clouds boot guests from a kernel in their image store (OpenStack's `kernel_id` and
`ramdisk_id`, OpenNebula's KERNEL_DS and INITRD_DS): for them kernel and initramfs are files beside
the disk. For all others (EC2, Xen, VirtualBox) the disk contains a boot loader, the kernel and the
initramfs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from aferir.clouds import lxd
from aferir.clouds.base import Template
from aferir.errors import MissingError, UsageError
from aferir.image import bootable, initramfs, kernels, userland
from aferir.linux import process
from aferir.machine import packages

PROGRAMS = ("cp", "debugfs", "qemu-img")
# /sbin is a link, which debugfs would write into.
_FIRST_PROGRAM, _DHCP = "/usr/sbin/aferir-guest", "/usr/sbin/aferir-dhcp"
_BUSYBOX = "/usr/sbin/busybox"
_TIME_LIMIT_S = 300.0

_FIRST = """#!/bin/sh
# First program of a Node in a cloud: an address by DHCP, the service, and a reaper.
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
{modules}
ip link set lo up
ip link set eth0 addrgenmode none up
{busybox} udhcpc -i eth0 -f -q -t 100 -T 1 -s {dhcp} > /dev/console 2>&1
{start} > /dev/console 2>&1
while :; do sleep 2147483647 & wait; done
"""

_NETWORK = """\
cd /lib/aferir-modules
for m in *failover.ko *-virtio_net.ko; do insmod "$m"; done
cd /"""

_BOUND = """#!/bin/sh
# What udhcpc has learnt (udhcpc(8): ip, mask, router, interface).
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
[ -z "$router" ] || ip route add default via "${router%% *}"
"""


DiskForm = Literal["qcow2", "raw", "vdi", "vhd", "vmdk"]
"""Formats of a disk: raw and vhd for EC2's import, vdi for VirtualBox, vmdk for VMware."""


class NodeImage(msgspec.Struct, frozen=True):
    """Paths of the three files of an image, in one folder."""

    kernel: Path
    initramfs: Path
    disk: Path
    """Disk in QCOW2 format."""


def make(template: Template, folder: Path, progress: Callable[[str], None]) -> NodeImage:
    """Write the three files into an existing folder.

    Errors: MissingError if programs are missing, UsageError if one of the files exists already.
    """
    if absent := packages.missing(PROGRAMS):
        said = f"an image needs {', '.join(absent)}"
        raise MissingError(said, remedy=packages.install_command(absent))
    made = NodeImage(folder / "vmlinuz", folder / "initramfs.img", folder / "node.qcow2")
    for path in (made.kernel, made.initramfs, made.disk):
        if path.exists():
            raise UsageError(f"{path} exists", remedy="choose an empty folder")
    base = userland.ensure(progress)
    shutil.copyfile(base.kernel, made.kernel)
    shutil.copyfile(base.initramfs, made.initramfs)
    progress("making the disk")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as name:
        work = Path(name)
        raw = work / "disk.img"
        copy_sparse(base.disk, raw)
        put_files(raw, {**template.files, **_own_files(base, template.start, work, _NETWORK)})
        _convert(raw, "qcow2", made.disk)
    return made


def make_disk(
    template: Template, folder: Path, form: DiskForm, progress: Callable[[str], None]
) -> Path:
    """Write a disk that boots by itself, by BIOS and UEFI, into an existing folder.

    Errors: MissingError if programs are missing, UsageError if it exists already.
    """
    if absent := packages.missing(PROGRAMS):
        said = f"an image needs {', '.join(absent)}"
        raise MissingError(said, remedy=packages.install_command(absent))
    bootable.check()
    made = folder / f"node.{form}"
    if made.exists():
        raise UsageError(f"{made} exists", remedy="choose an empty folder")
    base = userland.ensure(progress)
    kernel = kernels.fetched(progress, bootable.DRIVERS)
    progress("making the disk")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as name:
        work = Path(name)
        root, whole = work / "root.img", work / "disk.img"
        copy_sparse(base.disk, root)
        # All drivers are loaded by the initramfs: those on the disk are another kernel's.
        put_files(root, {**template.files, **_own_files(base, template.start, work, "")})
        archive = kernels.archive(kernel, base.initramfs.read_bytes())
        bootable.make(root, kernel.program, archive, whole, work)
        _convert(whole, form, made)
    return made


def _convert(raw: Path, form: DiskForm, made: Path) -> None:
    wanted = "vpc" if form == "vhd" else form
    convert = ["qemu-img", "convert", "-f", "raw", "-O", wanted, str(raw), str(made)]
    process.run(convert, timeout_s=_TIME_LIMIT_S)


def make_archive(template: Template, folder: Path, progress: Callable[[str], None]) -> Path:
    """Write an image for LXD, as one file for `lxc image import`.

    Errors: UsageError if it exists already, OSError.
    """
    made = folder / "node.tar"
    try:
        with made.open("xb") as stream:
            lxd.pack(userland.ensure(progress).tree, template, stream)
    except FileExistsError:
        raise UsageError(f"{made} exists", remedy="choose an empty folder") from None
    return made


def copy_sparse(disk: Path, target: Path) -> None:
    """Copy a disk image; holes stay holes, and no blocks are shared."""
    command = ["cp", "--sparse=always", "--reflink=never", str(disk), str(target)]
    process.run(command, timeout_s=_TIME_LIMIT_S)


def put_files(disk: Path, files: dict[str, Path]) -> None:
    """Write files into an ext4 image that is not mounted, replacing existing ones (debugfs(8))."""
    lines: dict[str, None] = {}
    for inside, source in files.items():
        for parent in reversed(PurePosixPath(inside).parents[:-1]):
            lines[f"mkdir {parent}"] = None
        lines[f"rm {inside}"] = None
        lines[f"write {source} {inside}"] = None
        mode = 0o100755 if source.stat().st_mode & 0o100 else 0o100644
        lines[f"set_inode_field {inside} mode 0{mode:o}"] = None
    process.run(
        ["debugfs", "-w", "-f", "-", str(disk)],
        input_text="\n".join(lines) + "\n",
        timeout_s=_TIME_LIMIT_S,
        environment={"PATH": packages.search_path()},
    )


def _own_files(base: userland.Image, start: str, work: Path, modules: str) -> dict[str, Path]:
    """Files that replace aferir's agent in the guest; `modules` is a command that loads modules."""
    first = _FIRST.format(busybox=_BUSYBOX, dhcp=_DHCP, start=start, modules=modules)
    contents = {
        _FIRST_PROGRAM: first.encode(),
        _DHCP: _BOUND.encode(),
        _BUSYBOX: initramfs.member(base.initramfs.read_bytes(), "bin/busybox"),
    }
    files = {}
    for inside, content in contents.items():
        path = work / PurePosixPath(inside).name
        path.write_bytes(content)
        path.chmod(0o755)
        files[inside] = path
    return files
