"""A disk from which a machine boots by BIOS or UEFI, with any usual disk or network controller.

    sector 0        boot.img of GRUB, with the protective MBR of the GPT
    partition 1     core.img of GRUB, for BIOS (GRUB manual, "BIOS installation")
    partition 2     EFI system partition: GRUB for UEFI (EFI/BOOT/BOOTX64.EFI), kernel, initramfs
    partition 3     root, ext4, found by its label

Both loaders contain the same configuration and read the same kernel and initramfs. Everything is
made in files, without mounts, loop devices or root, so `grub-install`, which takes a device, is not
used.
"""

from __future__ import annotations

import struct
from pathlib import Path

from aferir.errors import MissingError
from aferir.image import initramfs
from aferir.linux import process, sparse
from aferir.machine import packages

DRIVERS = (
    *("crc32c_generic", "ext4", "sd_mod"),
    *("virtio_pci", "virtio_blk", "virtio_scsi", "nvme", "ahci", "ata_piix", "ata_generic"),
    *("xen_blkfront", "vmw_pvscsi", "mptspi"),
    *("virtio_net", "e1000", "e1000e", "8139cp", "8139too", "pcnet32"),
    *("ena", "ixgbevf", "xen_netfront", "vmxnet3"),
)
"""Drivers of the disks and networks of QEMU, VirtualBox, Xen, EC2 (Xen and Nitro) and VMware."""
ROOT_LABEL = "aferir-node"
_BOOT_LABEL = "AFERIR-BOOT"
_PROGRAMS = ("e2label", "grub-mkimage", "mcopy", "mformat", "mmd", "sfdisk")
_GRUB = Path("/usr/lib/grub")
_BIOS, _UEFI = "i386-pc", "x86_64-efi"
_LOADERS = {_BIOS: "grub-pc-bin", _UEFI: "grub-efi-amd64-bin"}
_MODULES = ("part_gpt", "fat", "search", "search_label", "linux", "boot")
_TIME_LIMIT_S = 300.0

_SECTOR = 512
_MIB = 2**20 // _SECTOR
_CORE_AT, _BOOT_AT, _ROOT_AT = _MIB, 2 * _MIB, 66 * _MIB
_PARTITIONS = f"""label: gpt
start={_CORE_AT}, size={_BOOT_AT - _CORE_AT}, type=21686148-6449-6E6F-744E-656564454649
start={_BOOT_AT}, size={_ROOT_AT - _BOOT_AT}, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
start={_ROOT_AT}, size={{size}}, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
"""
_CONFIGURATION = f"""search --no-floppy --label --set=root {_BOOT_LABEL}
linux /vmlinuz console=tty0 console=ttyS0,115200 quiet
initrd /initramfs.img
boot
"""
# Offsets in GRUB 2's boot.img and in the first sector of core.img (include/grub/i386/pc/boot.h):
# where the core begins, where the bytes of the MBR begin that belong to the partitions, and where
# the rest of the core begins.
_KERNEL_SECTOR, _OF_PARTITIONS, _REST_SECTOR = 0x5C, 0x1B8, _SECTOR - 12

_FIND = """disk=
i=0
while [ -z "$disk" ] && [ $i -lt 3000 ]; do
  for n in $($b awk 'NR > 2 {{ print $4 }}' /proc/partitions); do
    said=$($b dd if=/dev/$n bs=1 skip=1144 count={length} 2>/dev/null)
    [ "$said" = {label} ] && disk=/dev/$n
  done
  $b usleep 10000
  i=$((i+1))
done
"""


def check() -> None:
    """Raise MissingError, with its remedy, if something is missing to make a bootable disk."""
    absent = packages.missing(_PROGRAMS)
    if loaders := [name for target, name in _LOADERS.items() if not (_GRUB / target).is_dir()]:
        absent += loaders
    if absent:
        said = f"a disk that boots by itself needs {', '.join(absent)}"
        raise MissingError(said, remedy=packages.install_command(absent))


def make(root: Path, kernel: Path, archive: bytes, disk: Path, work: Path) -> None:
    """Write a raw disk; `root` is an ext4 image, which gets a label, `work` a scratch folder.

    `archive` is an initramfs of ours with the `DRIVERS` of that kernel. Errors: those of `check`,
    ProgramError.
    """
    check()
    _run(["e2label", str(root), ROOT_LABEL])
    (work / "initramfs.img").write_bytes(by_label(archive, ROOT_LABEL))
    (work / "grub.cfg").write_text(_CONFIGURATION, encoding="ascii")
    core, loader = work / "core.img", work / "bootx64.efi"
    _run(_loader(_BIOS, core, work, "biosdisk"))
    _run(_loader(_UEFI, loader, work))
    boot = work / "boot.fat"
    _boot_partition(boot, kernel, work / "initramfs.img", loader)
    size = root.stat().st_size // _SECTOR
    with disk.open("xb") as stream:
        stream.truncate((_ROOT_AT + size + _MIB) * _SECTOR)  # the last MiB has the second GPT
    _run(["sfdisk", "-q", str(disk)], _PARTITIONS.format(size=size))
    for piece, at in ((boot, _BOOT_AT), (root, _ROOT_AT)):
        sparse.copy_into(disk, piece, at * _SECTOR)
    _put_bios_loader(disk, core)


def by_label(archive: bytes, label: str) -> bytes:
    """Return the initramfs for a root file system that is found by its label.

    The label of ext4 is at byte 1144 of the file system (ext4 disk layout, `s_volume_name`).
    """
    start = initramfs.member(archive, "init").decode()
    lines = start.splitlines(keepends=True)
    [waits] = [n for n, line in enumerate(lines) if line.startswith("while ! [ -b /dev/vda ]")]
    lines[waits - 1 : waits + 1] = [_FIND.format(label=label, length=len(label))]
    made = "".join(lines).replace("noatime /dev/vda", 'noatime "$disk"')
    return archive + initramfs.cpio([initramfs.File("init", 0o755, made.encode())])


def _loader(target: str, made: Path, work: Path, *more: str) -> list[str]:
    config = ["-c", str(work / "grub.cfg"), "-p", "/grub"]
    return ["grub-mkimage", "-O", target, "-o", str(made), *config, *_MODULES, *more]


def _boot_partition(made: Path, kernel: Path, archive: Path, loader: Path) -> None:
    with made.open("xb") as stream:
        stream.truncate((_ROOT_AT - _BOOT_AT) * _SECTOR)
    image = ["-i", str(made)]
    _run(["mformat", *image, "-F", "-v", _BOOT_LABEL, "::"])
    _run(["mmd", *image, "::EFI", "::EFI/BOOT"])
    files = {loader: "EFI/BOOT/BOOTX64.EFI", kernel: "vmlinuz", archive: "initramfs.img"}
    for source, inside in files.items():
        _run(["mcopy", *image, str(source), f"::{inside}"])


def _put_bios_loader(disk: Path, core: Path) -> None:
    """Write GRUB's boot.img and core.img to the disk; each holds the sector of its next part."""
    first = bytearray((_GRUB / _BIOS / "boot.img").read_bytes())
    struct.pack_into("<Q", first, _KERNEL_SECTOR, _CORE_AT)
    rest = bytearray(core.read_bytes())
    struct.pack_into("<Q", rest, _REST_SECTOR, _CORE_AT + 1)
    with disk.open("r+b") as stream:
        stream.write(first[:_OF_PARTITIONS])
        stream.seek(_CORE_AT * _SECTOR)
        stream.write(rest)


def _run(command: list[str], text: str = "") -> None:
    process.run(
        command,
        input_text=text,
        timeout_s=_TIME_LIMIT_S,
        environment={"PATH": packages.search_path()},
    )
