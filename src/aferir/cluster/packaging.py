"""Saves clusters with their disks as OVA files, loads such files, and moves clusters elsewhere.

The disks are `home` and one for each node that keeps what it writes. Diskless workers boot from the
front end's, so that all nodes of a loaded cluster have what was installed there.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from aferir.cluster import accounting, disks, manager, ova, ovf, slurm, storing
from aferir.cluster.description import FRONT, Description, NodeKind, State, check
from aferir.cluster.nodes import keeps_disk
from aferir.cluster.workshop import Workshop, workshop
from aferir.errors import MissingError, UsageError
from aferir.image.progress import Progress, silent
from aferir.linux import journal, process
from aferir.machine import packages

HOME = "home"
_BOOT_FILES = ("vmlinuz", "initramfs.img")
_NEEDED = {
    "usr/sbin/sshd": "openssh-server",
    "usr/bin/mpirun": "openmpi-bin",
    "usr/bin/ip": "iproute2",
}


def save(name: str, target: Path, progress: Progress = silent) -> None:
    """Save the cluster to `target`; it is paused meanwhile.

    Errors: UsageError if there is no such cluster or the file exists, MissingError if a program is
    missing here.
    """
    _require()
    if target.exists():
        raise UsageError(f"{target} exists", remedy="choose another file, or remove it")
    with storing.locked(name) as state, workshop(target.absolute().parent) as shop:
        with _still(state):
            images = _write_disks(state, shop, progress)
        _pack(state, shop, images, progress).rename(target)


def descriptor(name: str) -> str:
    """Descriptor of a package of the cluster, still without disks. Errors: those of `save`."""
    _require()
    return ovf.write(_package(storing.read(name), {}))


def move(
    name: str,
    ask: Callable[[str], None],
    send: Callable[[Path], None],
    progress: Progress = silent,
) -> None:
    """Pass a package of the cluster to `send`, and remove the cluster here once that returns.

    Before, `ask` gets the descriptor, still without disks. From then on the cluster is paused, and
    continues if `send` raises. Errors: those of `save`, `ask` and `send`.
    """
    _require()
    with storing.locked(name) as state:
        ask(ovf.write(_package(state, {})))
        with workshop(storing.folder(name).parent) as shop, _still(state):
            send(_pack(state, shop, _write_disks(state, shop, progress), progress))
        manager.undo(state)


def load(
    source: Path, *, name: str = "", kind: NodeKind | None = None, progress: Progress = silent
) -> State:
    """Create the cluster that a package contains, with another name or kind if wanted.

    Nodes are containers if guests cannot run here. Errors: UsageError, with the reason, if the
    package is damaged or describes no cluster; otherwise as `manager.create`.
    """
    _require()
    parent = storing.folder("x").parent
    parent.mkdir(parents=True, exist_ok=True)
    with workshop(parent) as shop:
        progress(f"checking {source.name}")
        package = ova.unpack(source, shop.folder)
        asked = _possible(package, name, kind, progress)

        def furnish(folder: Path) -> Path:
            progress("unpacking its disks")
            return _furnish(folder, shop, package, asked)

        return manager.create_from(asked, furnish, progress)


def require_possible(
    source: Path, *, name: str = "", kind: NodeKind | None = None, progress: Progress = silent
) -> None:
    """Raise what `load` of a descriptor would raise before it unpacks disks; nothing is left."""
    _require()
    try:
        package = ovf.read(source.read_bytes())
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}") from None

    class Furnished(Exception):
        pass

    def furnish(_: Path) -> Path:
        raise Furnished

    with contextlib.suppress(Furnished):
        manager.create_from(_possible(package, name, kind, progress), furnish)


def create_from_archive(asked: Description, archive: Path, progress: Progress = silent) -> State:
    """Create a cluster of containers from a tar of another root, for example mmdebstrap's.

    Errors: UsageError if it is not a tar, or lacks what a node needs; otherwise as
    `manager.create`.
    """
    if manager.backend(asked).own_kernel:
        raise UsageError("a tar has no kernel to start guests with", remedy="--kind container")
    if not archive.is_file():
        raise UsageError(f"there is no file {archive}", remedy="name a tar of a root file system")
    manager.require(check(asked), built=True)

    def furnish(folder: Path) -> Path:
        progress(f"unpacking {archive.name}")
        tree = folder / "image" / "tree"
        tree.mkdir(parents=True)
        options = ["--numeric-owner", "--exclude=./dev/*", "--exclude=dev/*", "-xpf"]
        done = process.run(
            ["tar", "-C", str(tree), *options, str(archive.absolute())],
            timeout_s=1800,
            check=False,
        )
        if done.exit_code != 0:
            raise UsageError(f"{archive} cannot be unpacked: {process.explain_exit(done)}")
        _check_tree(tree, archive.name, asked)
        return tree.parent

    return manager.create_from(asked, furnish, progress)


def _require() -> None:
    if absent := packages.missing(disks.PROGRAMS):
        raise MissingError(
            f"clusters cannot be saved or loaded without {', '.join(absent)}",
            remedy=packages.install_command(absent),
        )


@contextlib.contextmanager
def _still(state: State) -> Iterator[None]:
    """Pause the cluster's nodes while the context is open."""
    made = manager.backend(state.description)
    held = []
    try:
        for node in state.nodes:
            entry = journal.read(node.entry)
            if entry is not None and made.process(entry) is not None:
                held.append(entry)
                made.pause(entry, paused=True)
        yield
    finally:
        for entry in held:
            made.pause(entry, paused=False)


def _write_disks(state: State, shop: Workshop, progress: Progress) -> dict[Path, int]:
    """The disk images, and the size of each for a guest in bytes."""
    place = manager.place_of(state)
    made = manager.backend(state.description)
    found: dict[Path, int] = {}
    for node in state.nodes:
        if keeps_disk(state.description, node):
            progress(f"writing the disk of {node.name}")
            path = shop.folder / f"{node.name}.vmdk"
            found[path] = made.save_disk(place, node, shop, path)
    progress("writing the shared home")
    path = shop.folder / f"{HOME}.vmdk"
    found[path] = disks.from_folder(shop, place.folder / "home", path)
    return found


def _boot_files(state: State) -> list[Path]:
    paths = [Path(state.image) / name for name in _BOOT_FILES]
    return [path for path in paths if path.exists()]


def _pack(state: State, shop: Workshop, images: dict[Path, int], progress: Progress) -> Path:
    """Write the package in the workshop; returns its path."""
    progress("writing the package")
    file = shop.folder / "package.ova"
    name = state.description.name
    ova.pack(file, name, _package(state, images), [*images, *_boot_files(state)])
    return file


def _package(state: State, images: dict[Path, int]) -> ovf.Package:
    paths = [*images, *_boot_files(state)]
    asked = state.description
    own = {path.stem for path in images}
    return ovf.Package(
        files=tuple(
            ovf.File(id=f"file-{path.stem}", href=path.name, size=path.stat().st_size)
            for path in paths
        ),
        disks=tuple(
            ovf.Disk(id=path.stem, file=f"file-{path.stem}", capacity=size)
            for path, size in images.items()
        ),
        systems=tuple(
            ovf.System(
                name=node.name,
                disk=node.name if node.name in own else FRONT,
                cpus=asked.cpus,
                memory_bytes=asked.memory_bytes,
            )
            for node in state.nodes
        ),
        properties=ovf.properties(asked),
    )


def _possible(
    package: ovf.Package, name: str, kind: NodeKind | None, progress: Progress
) -> Description:
    """The cluster of a package, of containers if guests cannot run here and were not requested.

    Errors: those of `manager.require`.
    """
    asked = ovf.description(package, name, kind)
    try:
        manager.require(asked, built=True)
    except MissingError as error:
        if not manager.backend(asked).own_kernel or kind is not None:
            raise
        progress(f"{error.message}: it is loaded as containers")
        boot = "diskless" if asked.boot == "pxe" else asked.boot
        asked = msgspec.structs.replace(asked, kind="container", network_device=None, boot=boot)
        manager.require(asked, built=True)
    return asked


def _furnish(folder: Path, shop: Workshop, package: ovf.Package, asked: Description) -> Path:
    """Unpack the disks and the home of a new cluster; returns the folder of its userland."""
    target = folder / "image"
    target.mkdir()
    images = _images(shop, package)
    base = package.systems[0].disk
    _unpack_image(shop, images[base], target, asked)
    for system in package.systems if package.properties else ():
        if system.disk != base:
            own = target / system.name
            own.mkdir()
            _unpack_image(shop, images[system.disk], own, asked)
    if package.properties and HOME in images:
        disks.to_folder(shop, images[HOME], folder / "home")
        shutil.rmtree(folder / "home" / "lost+found", ignore_errors=True)
    for name in _BOOT_FILES:
        if (shop.folder / name).exists():
            (shop.folder / name).rename(target / name)
    if manager.backend(asked).own_kernel and not (target / _BOOT_FILES[0]).exists():
        raise UsageError(
            "the package has no kernel to start guests with", remedy="load it --kind container"
        )
    return target


def _images(shop: Workshop, package: ovf.Package) -> dict[str, Path]:
    """Image files by disk ID. Errors: UsageError if the disk of a node is missing."""
    hrefs = {file.id: file.href for file in package.files}
    images = {disk.id: shop.folder / hrefs[disk.file] for disk in package.disks}
    for system in package.systems:
        if system.disk not in images:
            raise UsageError(f"the package holds no disk `{system.disk}` for {system.name}")
    return images


def _unpack_image(shop: Workshop, image: Path, target: Path, asked: Description) -> None:
    if manager.backend(asked).own_kernel:
        disks.to_raw(shop, image, target / "disk.img")
        return
    disks.to_folder(shop, image, target / "tree")
    _check_tree(target / "tree", image.name, asked)


def _check_tree(tree: Path, name: str, asked: Description) -> None:
    """Raise UsageError if a userland lacks what a node of the described cluster needs."""
    batch = slurm.NEEDED if asked.slurm else {}
    for file, package in (
        _NEEDED | batch | (accounting.NEEDED if asked.accounting else {})
    ).items():
        if not (tree / file).is_symlink() and not (tree / file).exists():
            raise UsageError(
                f"{name} cannot be a node: it has no {package}",
                remedy=f"install {package} where it was made",
            )
