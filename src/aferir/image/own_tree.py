"""The files of a userland that belong to an ordinary user, as root of a user namespace needs them.

Root's images are readable by all, but their owner has no number in the namespace of a user: such a
file can neither be changed nor copied up by an overlay (user_namespaces(7)).
"""

from __future__ import annotations

import os
from pathlib import Path

from aferir.errors import ProgramError
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.linux import journal, process, undo

_COPY_LIMIT_S = 300.0
_NOT_OURS = (": Permission denied", ": Operation not permitted")
"""Endings of cp's messages about files that an ordinary user may not read or make."""


def ensure(progress: Progress = silent, extra: tuple[str, ...] = ()) -> Path:
    """Root of an image whose files belong to this user: of our own image, or a copy of root's.

    Errors: MissingError as of `userland.ensure`, ProgramError if they cannot be copied.
    """
    image = userland.ensure(progress, extra)
    if image.tree.stat().st_uid == os.geteuid():
        return image.tree
    images = journal.cache_folder() / "images"
    folder = images / f"{image.metadata.hash}-own"
    if (folder / "tree").is_dir():
        return folder / "tree"
    progress("copying root's userland, once")
    entry = journal.write(userland.BUILDING, {"folder": str(images)})
    copy = images / f".building-{entry.id}"
    try:
        copy.mkdir(parents=True)
        _copy(image.tree, copy / "tree")
        try:
            copy.rename(folder)
        except OSError:
            if not (folder / "tree").is_dir():  # else somebody else was faster
                raise
    finally:
        undo.remove_tree(copy)
        journal.erase(entry)
    return folder / "tree"


def _copy(tree: Path, to: Path) -> None:
    """Copy all files that we may read or make; no program needs the others (passwords, devices)."""
    line = ["cp", "-a", "--no-preserve=ownership", str(tree), str(to)]
    done = process.run(line, timeout_s=_COPY_LIMIT_S, check=False, environment={"LC_ALL": "C"})
    wrong = [said for said in done.stderr.splitlines() if not said.endswith(_NOT_OURS)]
    if wrong or done.exit_code not in (0, 1):
        said = wrong[0] if wrong else process.explain_exit(done)
        raise ProgramError(f"the userland cannot be copied: {said}")
