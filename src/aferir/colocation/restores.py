"""Counts the restores on this machine, over all runs, for monitoring."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from aferir.linux import journal


class Restores(msgspec.Struct, frozen=True, kw_only=True):
    """Number of restores on this machine so far, by outcome."""

    complete: int = 0
    failed: int = 0
    """Number of restores that left something changed."""


def read() -> Restores:
    """Return the counts; both are 0 before the first restore."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=Restores)
    except (OSError, msgspec.DecodeError):
        return Restores()


def count(*, complete: bool) -> None:
    """Add one restore to the counts; does not fail if they cannot be written."""
    before = read()
    after = Restores(complete=before.complete + complete, failed=before.failed + (not complete))
    temporary = _file().with_name(f"restores.writing-{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(after))
        temporary.replace(_file())


def _file() -> Path:
    return journal.state_folder() / "colocation" / "restores"
