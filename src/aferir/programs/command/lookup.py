"""Finds a program on the host, its Debian packages, and those that an image lacks."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.errors import AferirError
from aferir.linux import process
from aferir.machine import packages

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
"""Search path of all environments, so that a name is the same program natively and in an image."""
STATUS = Path("/var/lib/dpkg/status")
_LIBRARY = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_LIMIT_S = 300.0
"""Time limit in s of dpkg and ldd: what they do not tell is left out of images without notice."""
_WHOLE = {"python3-minimal": "python3", "python3.11-minimal": "python3", "perl-base": "perl"}
"""Packages that replace a package with a bare interpreter, to add the standard library that scripts
expect.
"""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """Path of a program on the host, and the packages that it and its libraries belong to."""

    path: str = ""
    """Path on the host; "" if it is not installed."""
    owners: dict[str, str] = {}
    """Debian package of the program, under "", and of the libraries that it is linked with."""

    @property
    def packaged(self) -> bool:
        """Whether the program belongs to a package."""
        return "" in self.owners


@functools.cache
def made_of(program: str) -> Made:
    """A program by its path or its bare name, as this host has it; system folders come first."""
    path = shutil.which(program, path=SYSTEM_PATH) or shutil.which(
        program, path=packages.search_path()
    )
    if path is None:
        return Made()
    libraries = _libraries(path)
    interpreter = _interpreter(path)
    wanted = {"": path, **libraries}
    if interpreter:
        wanted["#!"] = interpreter
    return Made(path=path, owners=_owners(wanted))


def missing_packages(made: Made, base: Iterable[str], status: Path = STATUS) -> tuple[str, ...]:
    """Packages of a program that an image with the packages `base` lacks.

    A program that belongs to no package needs the packages of its libraries.
    """
    own = [made.owners[key] for key in ("", "#!") if key in made.owners]
    wanted = {_WHOLE.get(name, name) for name in own or made.owners.values()}
    if not wanted:
        return ()
    try:
        text = status.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(sorted(wanted - closure(_parse(text), base)))


def closure(known: Mapping[str, Mapping[str, str]], base: Iterable[str]) -> set[str]:
    """`base`, all essential packages and their dependencies, from fields of dpkg's status.

    Of alternatives (`a | b`), the first installed one counts.
    """
    found: set[str] = set()
    left = [*base, *(name for name, stanza in known.items() if stanza.get("Essential") == "yes")]
    while left:
        name = left.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        for key in ("Depends", "Pre-Depends"):
            for clause in filter(None, known[name].get(key, "").split(",")):
                names = [
                    re.split(r"[\s(:]", part.strip(), maxsplit=1)[0] for part in clause.split("|")
                ]
                left += [one for one in names if one in known][:1]
    return found


@functools.lru_cache(maxsize=1)
def _parse(status: str) -> dict[str, dict[str, str]]:
    """Stanzas of installed packages, with the fields about dependencies."""
    found = {}
    for stanza in status.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in stanza.splitlines()
            if line.startswith(
                ("Package: ", "Essential: ", "Depends: ", "Pre-Depends: ", "Status: ")
            )
        )
        if fields.get("Status", "").endswith(" installed") and "Package" in fields:
            found[fields["Package"]] = fields
    return found


def _libraries(path: str) -> dict[str, str]:
    """Paths of a program's shared libraries as the loader finds them, by the requested name."""
    loader = next(iter(sorted(Path("/lib64").glob("ld-linux*.so.2"))), None) or next(
        iter(sorted(Path("/lib").glob("ld-linux*.so.*"))), None
    )
    with Path(path).open("rb") as program:
        if loader is None or program.read(4) != b"\x7fELF":
            return {}
    said = _said([str(loader), "--list", path])
    return dict(_LIBRARY.findall(said))


def _interpreter(path: str) -> str:
    """The interpreter in a script's first line; for /usr/bin/env, the program that it finds."""
    with Path(path).open("rb") as script:
        first = script.readline(256)
    words = first[2:].decode("utf-8", "replace").split() if first[:2] == b"#!" else []
    if words and words[0].endswith("/env"):
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return shutil.which(named[0], path=packages.search_path()) or "" if named else ""
    return words[0] if words else ""


def _owners(paths: Mapping[str, str]) -> dict[str, str]:
    """Package of each file; files without a package are omitted."""
    spellings = {name: _spellings(path) for name, path in paths.items()}
    asked = sorted({one for several in spellings.values() for one in several})
    said = _said(["dpkg-query", "--search", *asked])
    owned: dict[str, str] = {}
    for line in said.splitlines():
        names, _, path = line.partition(": ")
        if not names.startswith("diversion "):
            owned[path] = names.split(",")[0].partition(":")[0]
    return {
        name: next(owned[one] for one in several if one in owned)
        for name, several in spellings.items()
        if any(one in owned for one in several)
    }


def _spellings(path: str) -> tuple[str, ...]:
    """Paths under which a package may list a file: with links resolved, and without /usr."""
    both = (path, os.path.realpath(path))
    return tuple(
        dict.fromkeys(spelled for one in both for spelled in (one, one.removeprefix("/usr")))
    )


def _said(command: Sequence[str]) -> str:
    try:
        return process.run(command, timeout_s=_LIMIT_S, check=False).stdout
    except AferirError:
        return ""
