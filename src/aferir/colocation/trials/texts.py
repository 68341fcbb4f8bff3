"""Documentation from Debian packages, for an index of more text than a machine has installed.

Packages are downloaded by apt, which verifies them, and unpacked into the cache, not installed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process
from aferir.machine.packages import missing

_WANTED = (
    *("cmake-doc", "debian-handbook", "erlang-doc", r"fp-docs-[\d.]+", r"libboost[\d.]+-doc"),
    *("libeigen3-doc", r"libstdc\+\+-\d+-doc", r"linux-doc-[\d.]+", r"llvm-\d+-doc"),
    *(r"openjdk-\d+-doc", r"postgresql-doc-\d+", r"python3\.\d+-doc", "python-django-doc"),
    *("ghc-doc", r"petsc[\d.]+-doc", "python-pandas-doc", "scala-doc"),
    *("qtbase5-doc-html", "racket-doc", "rust-doc"),
)
"""Regular expressions of the packages to fetch, the newest of several versions: 1.1 GB of text
without markup.
"""
_PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
_TIME_LIMIT_S = 1800.0
_FOLDER = "texts"


def folders() -> tuple[Path, ...]:
    """Folders of documentation that was fetched."""
    return tuple(
        folder for cache in journal.readable_caches() if (folder := cache / _FOLDER).is_dir()
    )


def fetch() -> Path:
    """Fetch all packages that are not yet in the cache, and return the folder that has them.

    Errors: MissingError if apt is not installed or has none of the packages, ProgramError.
    """
    if absent := missing(_PROGRAMS):
        raise MissingError(
            f"{', '.join(absent)} is not here: documentation is taken from Debian's packages",
            remedy="a Debian or Ubuntu; or search in what the machine has",
        )
    names = process.run(["apt-cache", "pkgnames"], timeout_s=_TIME_LIMIT_S).stdout.split()
    chosen = choose(names)
    if not chosen:
        raise MissingError("apt knows no package of documentation", remedy="apt-get update")
    target = journal.cache_folder() / _FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        if not (target / name).exists():
            _unpacked(name, target / name)
    return target


def choose(names: Sequence[str]) -> list[str]:
    """The wanted packages among `names`; of several versions, only the newest."""
    found = []
    for wanted in _WANTED:
        matching = [name for name in names if re.fullmatch(wanted, name)]
        if matching:
            found.append(max(matching, key=_version))
    return found


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name))


def _unpacked(name: str, target: Path) -> None:
    """Download and unpack a package atomically: an interrupted one is started again next time."""
    half = target.parent.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    try:
        process.run(["apt-get", "download", "-q", name], timeout_s=_TIME_LIMIT_S, directory=half)
    except ProgramError as error:
        raise MissingError(
            f"apt could not download {name}: {error.message}", remedy="apt-get update"
        ) from None
    for archive in half.glob("*.deb"):
        unpack = ["dpkg-deb", "-x", str(archive), str(half / "all")]
        process.run(unpack, timeout_s=_TIME_LIMIT_S)
    (half / "all" / "usr" / "share").rename(target)
    shutil.rmtree(half)
