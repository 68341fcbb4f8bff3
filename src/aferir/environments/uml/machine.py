"""Finds the program that is a guest's kernel, and makes the guest's command line and initramfs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.errors import MissingError
from aferir.image import initramfs
from aferir.linux import process
from aferir.machine import packages

PROGRAM = "linux.uml"
HOST_FILES = PurePosixPath("/run/aferir-host")
"""Mount point in the guest of the folder through which files are copied in and out."""
_MODULES = Path("/usr/lib/uml/modules")
_START = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
echo {booted} > /dev/console
for m in {modules}; do $b insmod /modules/$m.ko; done
$b mount -t ext4 -o noinit_itable,noatime /dev/ubda /disk || echo "aferir: no disk" > /dev/console
$b ip link set lo up
# The terminal stays open from here on: what is typed to a closed one is thrown away when it opens.
exec 9<>/dev/ttyS0
$b stty raw -echo <&9
# Where the guest's first program looks for its agent's line.
$b ln -s ttyS0 /dev/vport0p1
$b mount --move /dev /disk/dev
$b mount -t proc proc /disk/proc
$b mount -t sysfs sys /disk/sys
$b mount -t tmpfs -o mode=755 run /disk/run
{mounts}
$b cp $b /disk/{poweroff}
$b cp /guest /disk/run/aferir-guest
echo {listening} > /disk/dev/console
exec $b switch_root /disk /run/aferir-guest
"""
LISTENING = "aferir:listening"
"""Line that appears on the guest's console once data sent to its agent is buffered, not discarded.
"""


class Kernel(msgspec.Struct, frozen=True):
    """The kernel program of User-Mode Linux as installed on this machine."""

    program: Path
    release: str
    modules: Path
    """Folder of its loadable modules."""


class Share(msgspec.Struct, frozen=True):
    """A folder of this machine that is mounted in the guest."""

    folder: Path
    at: PurePosixPath
    writable: bool = False


def find() -> Kernel:
    """User-Mode Linux of this machine. Errors: MissingError if there is none."""
    found = shutil.which(PROGRAM, path=packages.search_path())
    if found is None:
        raise MissingError(
            "User-Mode Linux is not installed", remedy=packages.install_command([PROGRAM])
        )
    release = process.run([found, "--version"], timeout_s=60).stdout.strip()
    return Kernel(Path(found), release, _MODULES / release)


def modules(kernel: Kernel, wanted: Sequence[str]) -> dict[str, bytes]:
    """Contents of the modules `wanted` and of their dependencies, in load order.

    Modules that are built into the kernel are left out. Errors: MissingError for a name that this
    kernel does not have.
    """
    if not wanted:
        return {}
    files = {_name(path.name): path for path in kernel.modules.glob("kernel/**/*.ko")}
    builtin = kernel.modules / "modules.builtin"
    inside = {_name(Path(line).name) for line in builtin.read_text(encoding="ascii").splitlines()}
    if unknown := sorted(set(wanted) - set(files) - inside):
        raise MissingError(
            f"User-Mode Linux {kernel.release} has no module {', '.join(unknown)}",
            remedy="use an environment of kind `vm`",
        )
    needs: dict[str, list[str]] = {}
    reading = list(wanted)
    while reading:
        name = reading.pop()
        if name in files and name not in needs:
            needs[name] = initramfs.dependencies(files[name].read_bytes())
            reading += needs[name]
    order = initramfs.load_order(tuple(wanted), needs)
    return {name: files[name].read_bytes() for name in order}


def archive(
    loaded: Mapping[str, bytes], busybox: bytes, shares: Sequence[Share], jail: Path
) -> bytes:
    """Initramfs of the guest; `loaded` are its modules, in load order.

    Each of `shares` is a folder in `jail`, or that folder itself.
    """
    mounts = "\n".join(_mount(share, jail) for share in shares)
    start = _START.format(
        booted=initramfs.BOOTED,
        modules=" ".join(loaded),
        mounts=mounts,
        poweroff=initramfs.POWEROFF,
        listening=LISTENING,
    )
    files = [initramfs.File(name, 0o755) for name in ("bin", "dev", "disk", "modules")]
    files += [initramfs.File("bin/busybox", 0o755, busybox)]
    files += [initramfs.File("init", 0o755, start.encode())]
    files += [initramfs.File("guest", 0o755, initramfs.MORTAL_INIT.encode())]
    files += [initramfs.File(f"modules/{m}.ko", 0o644, content) for m, content in loaded.items()]
    return initramfs.cpio(files)


def command(
    kernel: Kernel,
    *,
    folder: Path,
    disk: Path,
    memory_bytes: int,
    agent: int,
    jail: Path,
    wires: Sequence[int] = (),
) -> list[str]:
    """Command line of a guest with its files in `folder`.

    Writes to its `disk` go to a sparse copy-on-write file in `folder`. `agent` is our file
    descriptor of a socket whose other end is the guest's serial line; `jail` is the folder of the
    host whose subfolders it can mount. `wires` are file descriptors of sockets that carry the
    frames of its interfaces vec0, vec1, ... Memory is rounded up to whole MiB.

    Its kernel compares no codes of RAID 6, which takes 0.85 s of the 1.1 s to its first program,
    and so has none.
    """
    return [
        str(kernel.program),
        f"initrd={folder / 'initramfs.img'}",
        f"ubd0={folder / 'disk.cow'},{disk}",
        f"mem={-(-memory_bytes // 2**20)}M",
        f"hostfs={jail}",
        *("con=null", "con0=null,fd:1", f"ssl0=fd:{agent}"),
        *(f"vec{n}:transport=fd,fd={handle},vec=0" for n, handle in enumerate(wires)),
        *(f"uml_dir={folder}/", "umid=control"),
        *("quiet", "loglevel=3", "panic=-1", "noreboot"),
        "initcall_blacklist=raid6_select_algo",
    ]


def _mount(share: Share, jail: Path) -> str:
    name = f"/{share.folder.relative_to(jail)}"
    mode = "rw" if share.writable else "ro"
    target = f'"/disk{share.at}"'
    return f'$b mkdir -p {target} && $b mount -t hostfs -o "{name},{mode}" host {target}'


def _name(file: str) -> str:
    return re.sub(r"\.ko$", "", file).replace("-", "_")
