"""Containers and pods by name, and their control groups.

Engines name groups after the container's 64-digit identifier: `docker-ID.scope`, `libpod-ID.scope`,
`crio-ID.scope`, `cri-containerd-ID.scope`, or a folder `ID`. LXC names them after the container.
A pod's group is `kubepods-...-podUID.slice`, with underscores, or a folder `podUID`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from aferir.errors import AferirError
from aferir.linux import process

_ENGINES = (
    ("podman", "inspect", "--type=container", "--format={{.Id}}"),
    ("docker", "inspect", "--type=container", "--format={{.Id}}"),
)
"""Commands that print the identifier of the container whose name follows."""
_LIMIT_S = 60.0
"""Time limit in s of such a command: a container that is not found on a busy machine is refused."""
_LXC = re.compile(r"lxc(?:\.payload)?[./](?P<name>[^/]+)$")
_ID = re.compile(r"(?:^|-)([0-9a-f]{64})(?:\.scope)?$")
_POD = re.compile(r"(?:^|-)pod([0-9a-f_-]+?)(?:\.slice)?$")
_SHORTEST = 12
"""Shortest part of an identifier, in digits, that names a container: engines display 12."""


def identifiers(name: str) -> frozenset[str]:
    """Identifiers of the containers called `name`, in all engines that are installed."""
    found = set()
    for command in _ENGINES:
        try:
            done = process.run([*command, "--", name], timeout_s=_LIMIT_S, check=False)
        except AferirError:  # the engine is not here, or does not answer
            continue
        if done.exit_code == 0:
            found.add(done.stdout.strip())
    return frozenset(found)


def is_of(path: str, name: str, known: frozenset[str]) -> bool:
    """Whether a group's path below the root belongs to a container of this name or identifier."""
    if (found := _LXC.search(path)) and found["name"] == name:
        return True
    digits = _ID.search(path.rpartition("/")[2])
    if digits is None:
        return False
    by_name = len(name) >= _SHORTEST and digits[1].startswith(name)
    return by_name or digits[1] in known


def is_pod(path: str, uid: str) -> bool:
    """Whether a group's path below the root belongs to the pod with this UID."""
    found = _POD.search(path.rpartition("/")[2])
    return found is not None and found[1].replace("_", "-") == uid.lower()


def groups(root: Path, kind: str, name: str) -> Iterator[Path]:
    """Outermost groups below `root` of a container or pod (`kind`: a key of `MATCHERS`)."""
    matches = MATCHERS[kind](name)
    for folder, below, _ in os.walk(root):
        for inner in list(below):
            path = Path(folder, inner)
            if matches(str(path.relative_to(root))):
                below.remove(inner)
                yield path


def _of_container(name: str) -> Callable[[str], bool]:
    known = identifiers(name)
    return lambda path: is_of(path, name, known)


def _of_pod(uid: str) -> Callable[[str], bool]:
    return lambda path: is_pod(path, uid)


MATCHERS: Mapping[str, Callable[[str], Callable[[str], bool]]] = MappingProxyType(
    {"container": _of_container, "pod": _of_pod}
)
"""Functions by kind of name; each takes a name, and returns a test of a group's path."""
