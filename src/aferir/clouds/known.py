"""Records which clouds were asked for instances, and identifies instances of this machine.

The name of an instance contains its owner, a number that is drawn once for each state folder. So
instances without a journal entry can be found, and those of other machines are left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from aferir.clouds import removal
from aferir.clouds.provider import Provider
from aferir.clouds.removal import Made
from aferir.errors import AferirError, UsageError
from aferir.linux import journal
from aferir.linux.refusal import refusals
from aferir.model.cloud import Wanted

_TAG = "aferir-"
_NAME = re.compile(f"{_TAG}([0-9a-f]{{8}}-)?[0-9a-f]{{12}}")
"""Pattern of the names of aferir's instances; names from older versions lack the owner."""
_OWNER = "owner"
_REMEMBERED_S = 3600.0
"""Seconds after its last use for which a cloud is still searched although no instance of ours is
known there.
"""


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """A cloud from which instances were requested."""

    wanted: Wanted
    place: str


class Swept(msgspec.Struct, frozen=True):
    """Result of a search for instances without a journal entry."""

    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    of_others: tuple[str, ...] = ()
    """Instances of other owners, which were left alone."""


def owner() -> str:
    """Eight digits that identify this state folder. Errors: RefusedError."""
    path = journal.state_folder() / _OWNER
    with refusals(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            mine = path.with_name(f"{_OWNER}-{uuid.uuid4().hex}")
            journal.write_durably(mine, uuid.uuid4().hex[:8].encode())
            try:
                os.link(mine, path)  # of two processes that start at once, the first one wins
            except FileExistsError:
                pass
            finally:
                mine.unlink()
        return path.read_text(encoding="ascii")


def prefix(whose: str) -> str:
    """Prefix of the names of an owner's instances."""
    return f"{_TAG}{whose}-"


def remember(wanted: Wanted, place: str) -> None:
    """Record that instances are requested from this cloud. Errors: RefusedError."""
    name = hashlib.sha256(f"{wanted.provider} {place}".encode()).hexdigest()[:16]
    path = _folder() / f"{name}.json"
    if path.exists():
        path.touch()
        return
    with refusals(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        journal.write_durably(path, msgspec.json.encode(Used(wanted=wanted, place=place)))


def sweep(search: Callable[[Used], Swept]) -> Swept:
    """Release all instances of this owner without a journal entry, in all clouds used.

    `search` does this in one cloud; if it raises AferirError, the result names that as a problem.
    """
    removed: list[str] = []
    problems: list[str] = []
    for path, used in _used():
        try:
            done = search(used)
        except AferirError as error:
            remedy = f"; {error.remedy}" if error.remedy else ""
            problems.append(
                f"what is left in {used.wanted.provider} ({used.place}) is not known: "
                f"{error.message}{remedy}; "
                f"delete {path} if that cloud is no more"
            )
            continue
        removed += done.removed
        problems += done.problems
        unused_s = time.time() - path.stat().st_mtime
        if not (done.removed or done.problems) and unused_s > _REMEMBERED_S:
            path.unlink(missing_ok=True)
    return Swept(tuple(removed), tuple(problems))


def sweep_cloud(cloud: Provider, *, of_others: bool = False) -> Swept:
    """Release this owner's instances without a journal entry in one cloud. Errors: AferirError.

    With `of_others`, those of other owners are released as well.
    """
    removed: list[str] = []
    problems: list[str] = []
    others: list[str] = []
    mine = prefix(owner())
    for identity, name in sorted(cloud.named(_TAG).items()):
        if not _NAME.fullmatch(name):
            continue  # somebody's own, who named it so
        if not (name.startswith(mine) or of_others):
            others.append(name)
            continue
        # Entries are written before instances are requested, so they are read after the list.
        if journal.read(name.rpartition("-")[2]) is not None:
            continue
        try:
            removal.remove(cloud, Made(name=name, identity=identity))
            removed.append(f"instance {name}")
        except AferirError as error:
            problems.append(f"instance {name} could not be removed: {error.message}")
    return Swept(tuple(removed), tuple(problems), tuple(others))


def check_place(cloud: Provider, place: str) -> None:
    """Check that the credentials still lead to the cloud in which the instances were created.

    Errors: UsageError otherwise, as all instances would seem to be gone.
    """
    now = cloud.place()
    if place and now != place:
        raise UsageError(
            f"it is in {place}, and the credentials lead to {now} now",
            remedy="set the region, the address and the project as they were",
        )


def _used() -> Iterator[tuple[Path, Used]]:
    for path in sorted(_folder().glob("*.json")):
        try:
            yield path, msgspec.json.decode(path.read_bytes(), type=Used)
        except (OSError, msgspec.DecodeError):
            continue


def _folder() -> Path:
    return journal.state_folder() / "clouds"
