"""The userland of containers and guests: built once from a recipe, then found by its hash.

An image is a folder that is renamed into place when it is complete, so that an incomplete one is
never used:

    <cache>/images/<hash>/metadata.json   recipe, packages with versions, release of the kernel
                          tree/           root of containers (read-only lower layer)
                          disk.img        the same tree as ext4, base of guests' disks
                          vmlinuz, initramfs.img; later vmlinux, see `plain_kernel`
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Collection
from pathlib import Path

import msgspec

from aferir.errors import MissingError, ProgramError, TimeoutExpired, UsageError
from aferir.image import initramfs, recipe
from aferir.image.progress import Progress, silent
from aferir.linux import cleaning, journal, lock, process, umask, undo
from aferir.machine import facts, packages, privileges
from aferir.model.finding import Finding

BUILDING = "image"
"""Kind of journal entry of an image that is being built."""
_DISK_SIZE = "4G"
"""Size of the sparse disk: blocks that a guest does not write occupy no space."""
_TIME_LIMIT_S = 900.0
_REMEDY = "see whether `apt-get update` reaches this host's package archive"
_BUSY = "try again when this host and its package archive are less busy"
_PROGRAMS = ("mmdebstrap", "mke2fs", "dpkg-deb", "tar")


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of an image: how it was made, and what it contains."""

    hash: str
    recipe: recipe.Recipe
    kernel_release: str
    packages: dict[str, str]
    """Version of each package."""


class Image(msgspec.Struct, frozen=True):
    """A complete image in the cache."""

    folder: Path
    metadata: Metadata

    @property
    def tree(self) -> Path:
        """Root of the image's files."""
        return self.folder / "tree"

    @property
    def disk(self) -> Path:
        """Path of a raw ext4 disk with the same files as `tree`."""
        return self.folder / "disk.img"

    @property
    def kernel(self) -> Path:
        """Path of the kernel for guests."""
        return self.folder / "vmlinuz"

    @property
    def initramfs(self) -> Path:
        """Path of the initramfs for guests."""
        return self.folder / "initramfs.img"


def host_recipe(extra: tuple[str, ...] = (), suite: str = "") -> recipe.Recipe:
    """Recipe for this host, with `extra` packages. Errors: MissingError if there is none.

    `suite` selects another release of the host's distribution, for containers: programs that were
    built here run on later releases.
    """
    own = recipe.for_host(facts.os_release(), platform.machine(), extra)
    return msgspec.structs.replace(own, suite=suite) if suite else own


def find(wanted: recipe.Recipe) -> Image | None:
    """The image if it is in our cache, or in root's, which all users may read."""
    for cache in journal.readable_caches():
        folder = cache / "images" / wanted.hash
        try:
            metadata = msgspec.json.decode((folder / "metadata.json").read_bytes(), type=Metadata)
        except (OSError, msgspec.DecodeError):
            continue
        return Image(folder, metadata)
    return None


def check(extra: tuple[str, ...] = (), suite: str = "") -> list[Finding]:
    """Findings about what is missing to build the image; empty if it exists or can be built."""
    try:
        wanted = host_recipe(extra, suite)
    except MissingError as error:
        return [Finding("image", "missing", error.message, error.remedy)]
    if find(wanted) is not None:
        return []
    root = privileges.is_root()
    missing = packages.missing(_PROGRAMS if root else (*_PROGRAMS, "newuidmap"))
    if missing:
        said = f"the image cannot be built without {', '.join(missing)}"
        return [Finding("image", "missing", said, packages.install_command(missing))]
    if not root and not privileges.user_namespaces():
        said = "the image can be built by root alone: ordinary users get no user namespace here"
        return [Finding("image", "missing", said, privileges.as_root_command())]
    return []


def ensure(progress: Progress = silent, extra: tuple[str, ...] = (), suite: str = "") -> Image:
    """The image of this host with `extra` packages; built if not in the cache (about a minute).

    Errors: MissingError if `check` has a finding or the build fails.
    """
    wanted = host_recipe(extra, suite)
    found = find(wanted)
    if found is not None:
        return found
    for finding in check(extra, suite):
        raise MissingError(finding.message, remedy=finding.remedy)
    umask.everybody_reads()
    _images().mkdir(parents=True, exist_ok=True)
    with lock.held(_images(), lambda: progress("waiting for an image that another aferir builds")):
        return find(wanted) or _built(wanted, progress)


def _built(wanted: recipe.Recipe, progress: Progress) -> Image:
    """Build the image under the lock of all images. Errors: MissingError if that fails."""
    entry = journal.write(BUILDING, {"folder": str(_images())})
    folder = _images() / f".building-{entry.id}"
    try:
        folder.mkdir()
        try:
            _build(wanted, folder, entry.id, progress)
        except ProgramError as error:
            raise MissingError(
                f"the image could not be built: {error.message}",
                remedy=_BUSY if isinstance(error, TimeoutExpired) else _REMEDY,
            ) from None
        os.sync()  # a power cut must not leave an image that only looks complete
        folder.rename(_images() / wanted.hash)
    finally:
        undo.remove_tree(folder)
        journal.erase(entry)
    image = find(wanted)
    if image is None:
        raise ProgramError("the image vanished while it was being built", remedy="try again")
    return image


def give_back(entry: journal.Entry) -> None:
    """Remove an incomplete image whose builder is dead."""
    folder = Path(entry.details["folder"]) / f".building-{entry.id}"
    cleaning.remove_marked_folder(entry, folder)


def remove_images(users: Collection[str]) -> list[str]:
    """Remove all images from the cache; returns a description of each.

    `users` are kinds of journal entries whose things may use an image. Errors: UsageError while
    such a thing has a living owner.
    """
    orphans = {entry.id for entry in journal.orphans()}
    reading = {BUILDING, *users}
    if any(entry.kind in reading and entry.id not in orphans for entry in journal.entries()):
        raise UsageError(
            "the images are in use by a run or a cluster that is still going",
            remedy="wait for it to end, or end it, and try again",
        )
    folders = sorted(path for path in _images().glob("*") if path.is_dir())
    for folder in folders:
        undo.remove_tree(folder)
    return [f"image {folder.name}" for folder in folders]


def _build(wanted: recipe.Recipe, folder: Path, mark: str, progress: Progress) -> None:
    """Build an image in `folder`."""
    progress(f"building the {wanted.distribution} {wanted.suite} userland, once (about a minute)")
    tree = folder / "tree"
    _debootstrap(wanted, folder, tree, mark)
    progress("unpacking the guests' kernel")
    out = folder / "kernel"
    for package in sorted((tree / recipe.OUT).glob("*.deb")):
        process.run(["dpkg-deb", "--extract", str(package), str(out)], timeout_s=120)
    shutil.rmtree(tree / recipe.OUT)
    kernel = next(iter(sorted((out / "boot").glob("vmlinuz-*"))))
    shutil.copyfile(kernel, folder / "vmlinuz")
    modules = modules_in(out, initramfs.MODULES)
    _put_network_modules(
        tree / initramfs.NETWORK_FOLDER, modules_in(out, initramfs.NETWORK_MODULES)
    )
    busybox = next(path for path in out.glob("**/bin/busybox") if path.is_file())
    archive = initramfs.archive(modules, busybox.read_bytes())
    (folder / "initramfs.img").write_bytes(archive)
    shutil.rmtree(out)
    progress("making the guests' disk")
    _make_disk(tree, folder / "disk.img")
    metadata = Metadata(
        hash=wanted.hash,
        recipe=wanted,
        kernel_release=kernel.name.removeprefix("vmlinuz-"),
        packages=installed((tree / "var/lib/dpkg/status").read_text(encoding="utf-8")),
    )
    (folder / "metadata.json").write_bytes(msgspec.json.format(msgspec.json.encode(metadata)))


def _debootstrap(wanted: recipe.Recipe, folder: Path, tree: Path, mark: str) -> None:
    """Run mmdebstrap: directly into a folder as root, otherwise through a tar archive.

    An ordinary user cannot make files of other users, so all files belong to that user, which the
    programs in a guest, all run by its root, do not notice.
    """
    root = os.geteuid() == 0
    sources = _write_sources(wanted.suite, folder)
    dump = process.run(["apt-config", "dump"], timeout_s=120).stdout
    archive = folder / "tree.tar"
    target = tree if root else archive
    variables = {
        undo.MARK: mark,
        "GUEST_INIT": initramfs.GUEST_INIT,
        "CONTAINER_INIT": initramfs.CONTAINER_INIT,
        **({"TMPDIR": str(folder)} if root else {}),
    }
    command = recipe.command(
        wanted,
        sources,
        str(target),
        "root" if root else "unshare",
        recipe.apt_options(dump),
        merged_hooks=Path(recipe.MERGED_HOOKS).is_dir(),
    )
    _quietly(command, variables)
    for path in sources:
        Path(path).unlink()
    if not root:
        tree.mkdir()
        options = ["--no-same-owner", "--no-same-permissions", "--exclude=./dev/*"]
        process.run(["tar", "-C", str(tree), *options, "-xf", str(archive)], timeout_s=120)
        archive.unlink()


def _quietly(command: list[str], variables: dict[str, str]) -> None:
    """Run a command; an error names only its first word, since the whole command is long."""
    whole = f"`{' '.join(command)}`"
    try:
        process.run(command, timeout_s=_TIME_LIMIT_S, environment=variables)
    except ProgramError as error:
        said = error.message.replace(whole, f"`{command[0]}`")
        raise type(error)(said, remedy=error.remedy) from None


def _write_sources(suite: str, folder: Path) -> list[str]:
    """The host's own apt sources for `suite`, as files for mmdebstrap.

    For another release they are derived from the host's own sources, since an archive serves all
    releases.
    """
    apt = Path("/etc/apt")
    own = host_recipe().suite
    lines = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    texts = {
        "host.list": "".join(
            recipe.one_line_sources(path.read_text(encoding="utf-8"), own).replace(own, suite)
            for path in lines
            if path.is_file()
        ),
        "host.sources": "\n".join(
            recipe.deb822_sources(path.read_text(encoding="utf-8"), own).replace(own, suite)
            for path in sorted((apt / "sources.list.d").glob("*.sources"))
        ).strip(),
    }
    written = []
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text + "\n", encoding="utf-8")
            written.append(str(folder / name))
    if not written:
        raise MissingError(
            f"the apt sources of this host do not serve its own release, {own}",
            remedy=f"add the main archive of {own} to /etc/apt/sources.list",
        )
    return written


def modules_in(kernel: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Read the wanted modules and all their dependencies, in load order."""
    found = {
        path.name.removesuffix(".ko").replace("-", "_"): path
        for path in kernel.glob("**/modules/**/*.ko")
    }
    needs: dict[str, list[str]] = {}
    reading = [name for name in wanted if name in found]
    while reading:
        name = reading.pop()
        needs[name] = initramfs.dependencies(found[name].read_bytes())
        reading += [need for need in needs[name] if need in found and need not in needs]
    return {name: found[name].read_bytes() for name in initramfs.load_order(wanted, needs)}


def _put_network_modules(folder: Path, modules: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for number, (name, content) in enumerate(modules.items()):
        (folder / f"{number:02d}-{name}.ko").write_bytes(content)


def _make_disk(tree: Path, disk: Path) -> None:
    """Make an ext4 disk of the tree, without journal and reserved blocks."""
    process.run(
        [
            *("mke2fs", "-q", "-t", "ext4", "-m", "0"),
            *("-O", "^has_journal,^resize_inode"),
            *("-E", "lazy_itable_init=1,nodiscard,root_owner=0:0"),
            *("-d", str(tree), str(disk), _DISK_SIZE),
        ],
        timeout_s=120,
        environment={"PATH": packages.search_path()},
    )


def installed(status: str) -> dict[str, str]:
    """Version of each package in dpkg's status file (deb-control(5))."""
    versions: dict[str, str] = {}
    for stanza in status.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in stanza.splitlines()
            if line.startswith(("Package: ", "Version: "))
        )
        if len(fields) == 2:
            versions[fields["Package"]] = fields["Version"]
    return versions


def _images() -> Path:
    return journal.cache_folder() / "images"
