"""Starts what the databases of the bench have in common: a server, and a load generator."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

from aferir.colocation.trials.load import start_first
from aferir.colocation.trials.service import USER, as_user, wait_for
from aferir.linux import process

_GRACE_S = 10.0
"""Seconds in which a server may write out what it holds in memory."""


def data_of(folder: Path) -> Path:
    """Make the server's own folder in `folder`."""
    data = folder / "data"
    data.mkdir()
    shutil.chown(data, USER)
    return data


def log_of(folder: Path) -> Path:
    """Path of what the server writes to its output and its error output."""
    return folder / "log"


@contextmanager
def serving(words: Sequence[str], folder: Path, port: int) -> Iterator[Popen[str]]:
    """Start a server as `USER`, and wait until it listens; it is ended afterwards.

    Errors: ProgramError if it does not listen.
    """
    log = log_of(folder)
    with log.open("w", encoding="utf-8") as file:
        output = file.fileno()
        child = process.start([*as_user(), *words], stdout=output, stderr=output, directory=folder)
    try:
        wait_for(child, port, lambda: log.read_text(encoding="utf-8", errors="replace"))
        yield child
    finally:
        process.end(child, grace_s=_GRACE_S)


@contextmanager
def loading(words: list[str]) -> Iterator[Popen[str]]:
    """Start a load generator that waits for a line, and end it after the block.

    Errors: ProgramError.
    """
    child = start_first(words)
    try:
        yield child
    finally:
        process.end(child)
