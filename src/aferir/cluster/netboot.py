"""What a front end serves to workers that boot from the network.

The firmware of a worker's network card, iPXE, asks for an address. dnsmasq on the front end answers
with the worker's name and address, which it knows by the MAC address, and with a script's URL. From
there on NGINX serves: script, kernel and initramfs, which are in a folder that the front end shares
with its host. The kernel of the front end serves the rest by NFS 4: its own root, which workers
overlay with RAM, /home, and the folder of the cluster with its keys.

Sources: dnsmasq(8); ipxe.org/cmd, ipxe.org/cfg, ipxe.org/howto/dhcpd (`no-pxedhcp`); nfs(5);
Documentation/filesystems/nfs/rpc-cache.rst, and fs/nfsd/export.c and nfsctl.c, of Linux.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from aferir.cluster.configuration import FOLDER
from aferir.cluster.description import FRONT, MOST_NODES, Description, address, mac, node_name
from aferir.cluster.network import INTERFACE, PREFIX
from aferir.environments.qemu import command_line
from aferir.image import initramfs, kernels

PACKAGES = ("dnsmasq-base",)
"""Packages of the front end, in addition to NGINX, which every instance has."""
SERVER = ("nfsd",)
"""Kernel modules of the front end."""
WORKER = (
    *("virtio_pci", "failover", "net_failover", "virtio_net", "e1000", "8139cp"),
    *("nfsv4", "overlay"),
)
"""Kernel modules of workers."""
MODULES = (*SERVER, *WORKER)
BOOT = "boot"
"""Folder in the cluster's folder with all that a worker's firmware fetches."""
_READY = "aferir:ready"
"""Line that a worker writes to its serial line once it is ready."""
KERNEL, ARCHIVE, SCRIPT = "vmlinuz", "initramfs.img", "boot.ipxe"
_HERE = PurePosixPath(FOLDER) / BOOT
_URL = f"http://{address(0)}"
_NO_PROXY = "encap:175,176,1b"
"""DHCP option by which iPXE does not wait 2 s for another server that would name a file."""

_SERVED = "/run/served"
"""Folder of what is served by NFS, each without what is mounted below it."""
_PREFIX_6 = "fd4d::"
"""Prefix of IPv6 that is advertised: iPXE waits 15 s for one before it uses what DHCP said."""
# Flags of an export (include/uapi/linux/nfsd/export.h): no check that a file is below the exported
# folder, and a number of its own in handles; read-only, or asynchronous: what is written to /home
# is in the host's memory once virtiofs has it, so no disk need be waited for. Without `insecure`,
# clients need a port that only root may use: a user cannot read keys by a client of his own.
_EXPORTED = 0x400 | 0x2000
_READ_ONLY, _ASYNC = _EXPORTED | 0x1, _EXPORTED | 0x10
_ALWAYS = 2**31 - 1
"""Time in s at which what the kernel was told expires."""

NGINX = f"""user root;
worker_processes 1;
pid /run/nginx-boot.pid;
error_log /run/nginx-boot.log;
events {{}}
http {{
  access_log off;
  server {{
    listen 80;
    root {_HERE};
  }}
}}
"""


def dnsmasq() -> str:
    """Configuration of DHCP: the name and address of every node that a cluster can have.

    So it remains the same when the cluster grows.
    """
    lines = [
        "port=0",
        "user=root",
        f"interface={INTERFACE}",
        "leasefile-ro",
        "no-ping",
        "dhcp-authoritative",
        f"dhcp-range={address(0)},static",
        f"dhcp-option={_NO_PROXY}",
        f"dhcp-boot={_URL}/{SCRIPT}",
        f"dhcp-range={_PREFIX_6},ra-only",
        *(f"dhcp-host={mac(n)},{node_name(n)},{address(n)}" for n in range(1, MOST_NODES)),
    ]
    return "".join(f"{line}\n" for line in lines)


def script(cpus: int) -> str:
    """Script for iPXE, which replaces name and address by those of the DHCP answer."""
    own = "aferir.name=${hostname} aferir.address=${ip} aferir.front=${next-server}"
    words = f"initrd={ARCHIVE} {command_line.parameters(cpus)} {own}"
    return f"""#!ipxe
:again
kernel {_URL}/{KERNEL} {words} || goto again
initrd {_URL}/{ARCHIVE} || goto again
boot
"""


START = f"""#!/bin/sh
# Serves workers that boot from the network; on the front end. A worker says that it is ready.
if [ "$(hostname)" != {FRONT} ]; then echo {_READY} > /dev/console; exit 0; fi
share() {{ # number in handles, name, folder, flags
  mkdir -p {_SERVED}$2
  mount --bind $3 {_SERVED}$2
  echo cluster {_SERVED}$2 {_ALWAYS} $4 65534 65534 $1 > nfsd.export/channel
  printf 'cluster 1 \\\\x%02x000000 {_ALWAYS} {_SERVED}%s\\n' $1 "$2" > nfsd.fh/channel
}}
mount -t nfsd nfsd /proc/fs/nfsd
cd /proc/net/rpc
for n in $(seq {MOST_NODES}); do
  echo nfsd {address(0).rpartition(".")[0]}.$n {_ALWAYS} cluster > auth.unix.ip/channel
done
share 0 "" {_SERVED} {_READ_ONLY}
share 1 /root / {_READ_ONLY}
share 2 /home /home {_ASYNC}
share 3 /cluster {FOLDER} {_READ_ONLY}
cd /proc/fs/nfsd
echo -2 -3 > versions
echo tcp 2049 > portlist
mkdir -p /var/lib/nfs/v4recovery # without it, the next but one line has no effect
echo 8 > threads
echo Y > v4_end_grace # or files could be opened after 90 s only
ip address add {_PREFIX_6}1/64 dev {INTERFACE} nodad
nginx -c {_HERE}/nginx.conf
dnsmasq --conf-file={_HERE}/dnsmasq.conf
"""
"""Script that serves workers. It writes the kernel's tables itself: nfs-utils would bring rpcbind,
Kerberos and Python into the userland of every cluster."""

_MOUNT = "$b mount -t nfs -o vers=4.2,proto=tcp,hard,timeo=50"
_INIT = f"""#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
echo {initramfs.BOOTED} > /dev/console
for m in {{modules}}; do $b insmod /modules/$m.ko; done
$b mount -t proc proc /proc
for word in $($b cat /proc/cmdline); do
  case $word in aferir.*=*) export "${{{{word#aferir.}}}}" ;; esac
done
echo $name > /proc/sys/kernel/hostname
echo 0 > /proc/sys/net/ipv6/conf/{INTERFACE}/accept_ra
$b ip link set lo up
$b ip address add $address/{PREFIX} dev {INTERFACE}
$b ip link set {INTERFACE} up
set -e
{_MOUNT},ro,nocto,actimeo=60 $front:/root /lower
$b mount -t tmpfs -o mode=755 ram /ram
$b mkdir /ram/upper /ram/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/ram/upper,workdir=/ram/work root /disk
{_MOUNT},actimeo=1 $front:/home /disk/home
{_MOUNT},ro,actimeo=1 $front:/cluster /disk{FOLDER}
$b mount --move /dev /disk/dev
$b mount --move /proc /disk/proc
$b mount -t sysfs sys /disk/sys
$b mount -t tmpfs -o mode=755 run /disk/run
$b mkdir -p /disk/dev/shm /disk/dev/pts
$b mount -t tmpfs -o mode=1777 shm /disk/dev/shm
$b mount -t devpts pts /disk/dev/pts
echo $name > /disk/etc/hostname
exec $b switch_root /disk {FOLDER}/init
"""
"""First program of a worker. If it fails, the kernel panics, and the worker boots again."""


def archive(modules: Mapping[str, bytes], busybox: bytes) -> bytes:
    """Initramfs of workers; `modules` maps names to contents, in load order."""
    start = _INIT.format(modules=" ".join(modules))
    folders = ("bin", "dev", "disk", "lower", "modules", "proc", "ram")
    return initramfs.cpio(
        [
            *(initramfs.File(name, 0o755) for name in folders),
            initramfs.File("bin/busybox", 0o755, busybox),
            initramfs.File("init", 0o755, start.encode()),
            *(
                initramfs.File(f"modules/{name}.ko", 0o644, content)
                for name, content in modules.items()
            ),
        ]
    )


def write(config: Path, description: Description, kernel: kernels.Kernel, own: bytes) -> None:
    """Write all that is served into the cluster's folder `config`; `own` is the image's archive."""
    folder = config / BOOT
    folder.mkdir(exist_ok=True)
    busybox = initramfs.member(own, "bin/busybox")
    (folder / ARCHIVE).write_bytes(archive(kernel.drivers(WORKER), busybox))
    shutil.copyfile(kernel.program, folder / KERNEL)
    texts = {SCRIPT: script(description.cpus), "dnsmasq.conf": dnsmasq(), "nginx.conf": NGINX}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="ascii")


def is_ready(console: Path) -> bool:
    """Whether the worker with its serial line in the file `console` is ready."""
    return console.exists() and _READY.encode() in console.read_bytes()
