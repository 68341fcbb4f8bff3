"""Instances of LXD that no journal entry announces, found by their tags."""

from __future__ import annotations

from pathlib import Path

from aferir.clouds import known, lxd, lxd_api
from aferir.clouds.known import Swept
from aferir.errors import AferirError, ProgramError
from aferir.linux import journal


def sweep(socket: Path, *, of_others: bool = False) -> Swept:
    """Remove instances of this owner without a journal entry from the server on `socket`.

    `of_others`: those of other owners as well. Errors: AferirError if the server does not answer.
    """
    removed: list[str] = []
    problems: list[str] = []
    others: list[str] = []
    mine = known.owner()
    for name, (identity, owner) in sorted(_tagged(socket).items()):
        if owner != mine and not of_others:
            others.append(name)
            continue
        # Entries are written before instances are requested, so they are read after the list.
        if journal.read(identity) is not None:
            continue
        try:
            lxd.end(socket, name)
            removed.append(f"instance {name}")
        except (AferirError, OSError) as error:
            problems.append(f"instance {name} could not be removed: {error}")
    return Swept(tuple(removed), tuple(problems), tuple(others))


def _tagged(socket: Path) -> dict[str, tuple[str, str]]:
    """Name of each instance that aferir tagged, with the ID of its journal entry and its owner.

    An instance is left out if its name does not match its tag: then it is somebody's copy.
    """
    try:
        listed = lxd_api.ask(socket, "GET", "/1.0/instances?recursion=1")
    except OSError as error:
        raise ProgramError(
            f"LXD does not answer on {socket}: {error}", remedy="start LXD, then run `aferir clean`"
        ) from None
    found = {}
    for instance in listed:
        tags = instance.get("config") or {}
        identity = str(tags.get(lxd.TAG, ""))
        if identity and instance["name"] == f"{lxd.PREFIX}{identity}":
            found[str(instance["name"])] = (identity, str(tags.get(lxd.OWNER_TAG, "")))
    return found
