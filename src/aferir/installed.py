"""Files that come with the installed package besides its modules: programs, published results."""

from __future__ import annotations

import os
from pathlib import Path

from aferir.errors import MissingError

FOLDER_VARIABLE = "AFERIR_KERNELS"
"""Environment variable that names another folder of programs."""
_REBUILD = "install aferir again with `make run`, or name their folder in AFERIR_KERNELS"


def installed(name: str) -> Path | None:
    """Path of `aferir/<name>` beside these modules, else in the installation; None without it.

    In a checkout, modules run from the sources while programs may be installed elsewhere; on an
    agent's host all files are in one folder.
    """
    beside = Path(__file__).parent / name
    if beside.exists():
        return beside
    from importlib import metadata  # it takes longer than all the rest of an agent's start

    try:
        return Path(str(metadata.distribution("aferir").locate_file(f"aferir/{name}")))
    except metadata.PackageNotFoundError:
        return None


def programs_folder() -> Path:
    """Folder of our native programs on this host. Errors: MissingError if none were built."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    path = Path(chosen) if chosen else installed("kernels")
    if path is None or not path.is_dir():
        raise MissingError("no native programs are installed", remedy=_REBUILD)
    return path


def program(name: str) -> Path:
    """Path of a native program of aferir on this host. Errors: MissingError if it was not built."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    path = Path(chosen) / name if chosen else installed(f"kernels/{name}")
    if path is None or not path.is_file():
        where = f"in {path.parent}" if path is not None else "as aferir is not installed"
        raise MissingError(f"the program `{name}` is not there {where}", remedy=_REBUILD)
    if not os.access(path, os.X_OK):
        raise MissingError(f"{path} may not be executed", remedy=f"chmod +x {path}")
    return path
