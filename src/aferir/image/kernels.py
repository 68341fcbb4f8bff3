"""Kernels with more drivers than an image has: the distribution's full one, and the cloud one.

The image's kernel is the one for clouds, which is small and supports paravirtual hardware. The full
one is for guests with other hardware, the cloud one again for guests whose root is on a network.
They are downloaded at first use and stored in <cache>/kernels/<package>-<hash>/ with the drivers
that guests may need; the hash is that of their names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import msgspec

from aferir.errors import MissingError, ProgramError
from aferir.image import initramfs
from aferir.image.progress import Progress
from aferir.image.userland import modules_in
from aferir.linux import journal, process, scratch

DRIVERS = (
    *(
        "crc32c_generic",
        "ext4",
        "virtio_pci",
        "virtio_mmio",
        "virtio_console",
        "virtio_blk",
        "nvme",
    ),
    *("sd_mod", "virtio_scsi", "ahci", "ata_piix"),
    *("virtio_net", "e1000", "8139cp"),
)
CLOUD = "linux-image-cloud-amd64"
WHOLE = "linux-image-amd64"
_FETCH_S = 600.0


class Kernel(msgspec.Struct, frozen=True):
    """A kernel with loadable drivers."""

    folder: Path

    @property
    def program(self) -> Path:
        """Path of the kernel."""
        return self.folder / "vmlinuz"

    def drivers(self, wanted: tuple[str, ...] = ()) -> dict[str, bytes]:
        """Content of each module by name, in load order; of those `wanted` and what they need."""
        paths = sorted((self.folder / "modules").iterdir())
        every = {path.stem.partition("-")[2]: path.read_bytes() for path in paths}
        needs = {name: initramfs.dependencies(content) for name, content in every.items()}
        return {name: every[name] for name in initramfs.load_order(wanted or tuple(every), needs)}


def fetched(progress: Progress, drivers: tuple[str, ...] = DRIVERS, meta: str = WHOLE) -> Kernel:
    """The newest kernel of the package `meta` with `drivers`, downloaded if it is not in the cache.

    Errors: MissingError if it cannot be downloaded.
    """
    package = _package(meta)
    names = hashlib.sha256(" ".join(drivers).encode()).hexdigest()[:8]
    folder = journal.cache_folder() / "kernels" / f"{package}-{names}"
    if not folder.is_dir():
        progress(f"fetching {package}, which has drivers that a guest needs, once")
        with scratch.folder(0o755) as place:
            made = _made(package, place, drivers)
            folder.parent.mkdir(parents=True, exist_ok=True)
            _moved(made, folder)
    return Kernel(folder)


def _package(meta: str) -> str:
    """Newest kernel package of this release. Errors: MissingError."""
    done = process.run(["apt-cache", "depends", meta], timeout_s=60.0, check=False)
    found = [
        line.split(": ", 1)[1] for line in done.stdout.splitlines() if ": linux-image-" in line
    ]
    if not found:
        raise MissingError(
            f"the sources of packages of this host have no {meta}",
            remedy="apt-get update; where the archive is not Debian's, use `virtio` devices, "
            "and no `pxe`",
        )
    return found[0].strip()


def _made(package: str, place: Path, drivers: tuple[str, ...]) -> Path:
    """Kernel and drivers of a package, unpacked in `place`."""
    sandbox = "APT::Sandbox::User=root"  # the folder is not for apt's own user
    try:
        fetch = ["apt-get", "-q", "-o", sandbox, "download", package]
        process.run(fetch, directory=place, timeout_s=_FETCH_S)
    except ProgramError as error:
        raise MissingError(
            f"{package} cannot be fetched: {error.message}", remedy="apt-get update"
        ) from None
    out, made = place / "out", place / "made"
    [archive] = place.glob("*.deb")
    process.run(["dpkg-deb", "--extract", str(archive), str(out)], timeout_s=_FETCH_S)
    (made / "modules").mkdir(parents=True)
    shutil.copyfile(next(iter((out / "boot").glob("vmlinuz-*"))), made / "vmlinuz")
    for number, (name, content) in enumerate(modules_in(out, drivers).items()):
        (made / "modules" / f"{number:02}-{name}.ko").write_bytes(content)
    return made


def _moved(made: Path, folder: Path) -> None:
    """Move a folder into the cache atomically; another process may have done so before."""
    beside = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.copytree(made, beside)
    try:
        beside.rename(folder)
    except OSError:
        shutil.rmtree(beside)
        if not folder.is_dir():
            raise


def archive(kernel: Kernel, base: bytes, drivers: tuple[str, ...] = ()) -> bytes:
    """Initramfs for a guest with `kernel`; `base` is the image's own archive.

    It loads `drivers` and what they need, by default all that the kernel was fetched with.
    """
    return initramfs.archive(kernel.drivers(drivers), initramfs.member(base, "bin/busybox"))
