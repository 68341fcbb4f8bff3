"""Initramfs of guests: a shell, and the kernel modules for the disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

MODULES = ("virtio_pci", "virtio_mmio", "virtio_blk", "virtio_console")
"""Modules that a guest needs beyond a kernel with built-in ext4; dependencies are added."""

NETWORK_MODULES = (
    *("veth", "bonding", "bridge"),
    *("sch_tbf", "sch_netem", "sch_fq", "tcp_bbr"),
    *("virtio_net", "virtiofs"),
)
"""Modules for test networks inside a guest, for connections between guests, and for folders of the
host; stored on its disk and loaded on demand.
"""
NETWORK_FOLDER = "lib/aferir-modules"
"""Folder of the `NETWORK_MODULES`, numbered in load order."""

BOOTED = "aferir:booted"
"""Line that is written to the serial line when the kernel has started the first program."""
AGENT_PORT = "org.qemu.guest_agent.0"

_MOUNT = """\
$b mount -t ext4 -o noinit_itable,noatime /dev/vda /disk || echo "aferir: no disk" > /dev/console
"""
_SWITCH = """\
exec $b switch_root /disk /sbin/aferir-guest
"""
_START = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
echo {booted} > /dev/console
for m in {modules}; do $b insmod /modules/$m.ko; done
$b mount -t proc proc /proc
if $b grep -q aferir.only=boot /proc/cmdline; then $b poweroff -f; fi
i=0
while ! [ -b /dev/vda ] && [ $i -lt 500 ]; do $b usleep 10000; i=$((i+1)); done
{mount}$b ip link set lo up
$b mount --move /dev /disk/dev
$b mount --move /proc /disk/proc
$b mount -t sysfs sys /disk/sys
$b mount -t tmpfs -o mode=755 run /disk/run
{switch}"""

_FIND_ROOT = """\
$b mkdir /tools
$b mount -t ext4 -o ro,noload /dev/{tools} /tools
found=
for p in /dev/vda*; do
  $b mount -t ext4 -o noinit_itable,noatime $p /disk 2> /dev/null || continue
  if [ -x /disk/bin/sh ] && [ -e /disk/etc/os-release ]; then found=$p; break; fi
  $b umount /disk
done
if [ -z "$found" ]; then
  echo "aferir: the image has no root of a distribution on ext4" > /dev/console
  $b poweroff -f
fi
"""
POWEROFF = "run/busybox"
"""Path in a guest of the busybox with which its first program powers it off."""
_SWITCH_MORTAL = f"""\
$b cp $b /disk/{POWEROFF}
$b cp /guest /disk/run/aferir-guest
exec $b switch_root /disk /run/aferir-guest
"""
_SWITCH_FOREIGN = f"""\
$b mkdir /disk/run/aferir
$b mount --move /tools /disk/run/aferir
{_SWITCH_MORTAL}"""
_UNTIL_AGENT_ENDS = f"""agent=$!
# A guest without its agent cannot be told anything: it ends, which the host notices.
while kill -0 $agent 2> /dev/null; do wait $agent; done
/{POWEROFF} poweroff -f
"""
_FOREIGN_INIT = f"""#!/bin/sh
# First program of a guest with a root of its own: our agent, with its own libraries.
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
for port in /dev/vport*p1; do :; done
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
libraries=/run/aferir/lib/x86_64-linux-gnu
$libraries/ld-linux-x86-64.so.2 --library-path $libraries:/run/aferir/usr/lib/x86_64-linux-gnu \\
  /run/aferir/usr/sbin/qemu-ga -m virtio-serial -p "$port" -t /run -f /run/qga.pid \\
  > /dev/console 2>&1 &
{_UNTIL_AGENT_ENDS}"""

_AGENT = """#!/bin/sh
# First program of a guest: the agent that aferir gives its commands to, and a reaper.
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
for port in /dev/vport*p1; do :; done
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
qemu-ga -m virtio-serial -p "$port" -t /run -f /run/qga.pid > /dev/console 2>&1 &
"""
GUEST_INIT = f"""{_AGENT}while :; do sleep 2147483647 & wait; done
"""
MORTAL_INIT = f"""{_AGENT}{_UNTIL_AGENT_ENDS}"""
"""First program of a guest that powers off once its agent has ended, for whatever reason."""

CONTAINER_MARK = "run/aferir-booted"
"""File below the container's root that the container's first program creates before anything else.
"""
CONTAINER_INIT = f"""#!/bin/sh
# First program of a container: says that it runs, then reaps what others leave behind.
: > /{CONTAINER_MARK}
ip link set lo up
while :; do sleep 2147483647 & wait; done
"""


class File(msgspec.Struct, frozen=True):
    """One entry of the archive; a folder if `content` is None."""

    path: str
    mode: int
    content: bytes | None = None


def archive(modules: Mapping[str, bytes], busybox: bytes) -> bytes:
    """An uncompressed initramfs: emulated guests copy faster than they decompress.

    `modules` maps names to contents, in load order.
    """
    start = _START.format(booted=BOOTED, modules=" ".join(modules), mount=_MOUNT, switch=_SWITCH)
    files = [File(name, 0o755) for name in ("bin", "dev", "disk", "modules", "proc")]
    files += [File("bin/busybox", 0o755, busybox), File("init", 0o755, start.encode())]
    files += [File(f"modules/{name}.ko", 0o644, content) for name, content in modules.items()]
    return cpio(files)


def with_disk(archive: bytes, name: str) -> bytes:
    """Return the archive for a guest whose kernel calls the disk `name`.

    A later member of the same name replaces an earlier one (buffer-format.rst).
    """
    start = member(archive, "init").replace(b"/dev/vda", b"/dev/" + name.encode())
    return archive + cpio([File("init", 0o755, start)])


def with_mortal_init(archive: bytes) -> bytes:
    """Return an image's archive, changed so that the guest powers off once its agent has ended.

    With the archive's own first program, the guest would go on after its programs have killed the
    agent, and the host would wait for an answer forever.
    """
    start = member(archive, "init").replace(_SWITCH.encode(), _SWITCH_MORTAL.encode())
    files = [File("init", 0o755, start), File("guest", 0o755, MORTAL_INIT.encode())]
    return archive + cpio(files)


def with_foreign_root(archive: bytes, tools: str) -> bytes:
    """Return the archive for a guest whose disk has a root that we did not make.

    The root is the first file system of ext4 on the disk, or on a partition of it, that has a
    distribution's mark (os-release(5)) and a shell. The agent and its libraries come from the disk
    `tools`, which has our userland, and are seen in the guest below /run/aferir.
    """
    start = member(archive, "init")
    before, mount, after = start.partition(_MOUNT.encode())
    assert mount, "the initramfs mounts its disk in one line"
    changed = before + _FIND_ROOT.replace("{tools}", tools).encode() + after
    changed = changed.replace(_SWITCH.encode(), _SWITCH_FOREIGN.encode())
    agent = File("guest", 0o755, _FOREIGN_INIT.encode())
    return archive + cpio([File("init", 0o755, changed), agent])


def with_network(archive: bytes) -> bytes:
    """The archive for a guest in QEMU's user network, with its addresses."""
    lines = b"""$b ip link set lo up
$b ip link set eth0 up
$b ip addr add 10.0.2.15/24 dev eth0
$b ip route add default via 10.0.2.2
"""
    start = member(archive, "init").replace(b"$b ip link set lo up\n", lines)
    return archive + cpio([File("init", 0o755, start)])


def cpio(files: list[File]) -> bytes:
    """Make a `newc` archive (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    parts = [_member(number, file) for number, file in enumerate(files, 1)]
    return b"".join([*parts, _member(0, File("TRAILER!!!", 0, b""))])


def member(archive: bytes, path: str) -> bytes:
    """Content of the last file `path` in an archive of ours. Errors: KeyError."""
    at, found = 0, None
    while at < len(archive):
        size, name_size = (int(archive[at + field : at + field + 8], 16) for field in (54, 94))
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        begin = at + (110 + name_size + 3) // 4 * 4
        if name == path:
            found = archive[begin : begin + size]
        at = begin + (size + 3) // 4 * 4
    if found is None:
        raise KeyError(path)
    return found


def _member(number: int, file: File) -> bytes:
    kind = 0o040000 if file.content is None else 0o100000 if file.mode else 0
    content = file.content or b""
    name = file.path.encode() + b"\0"
    fields = (number, kind | file.mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def dependencies(module: bytes) -> list[str]:
    """Dependencies that a kernel module lists in its .modinfo section."""
    found = re.search(rb"(?<!\w)depends=([^\0]*)\0", module)
    names = found[1].decode("ascii", "replace") if found else ""
    return [name.replace("-", "_") for name in names.split(",") if name]


def load_order(wanted: tuple[str, ...], needs: Mapping[str, list[str]]) -> list[str]:
    """`wanted` and all dependencies, each after its own dependencies.

    Names that `needs` lacks are left out: they are built into the kernel.
    """
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in order or name in above or name not in needs:
            return
        for need in needs[name]:
            visit(need, (*above, name))
        order.append(name)

    for name in wanted:
        visit(name, ())
    return order


def has_booted(console: Path) -> bool:
    """True if a guest with its serial line in the file `console` has reported its boot."""
    return console.exists() and BOOTED.encode() in console.read_bytes()
