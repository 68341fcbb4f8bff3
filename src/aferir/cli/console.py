"""Where text goes that is for people: standard error for progress, standard output for answers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

_WIDTH = 160
"""Columns of a table that goes into a file or a pipe."""

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Make a console that is wide, and keeps quiet about colours, where there is no terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH
    return Console(stderr=stderr, highlight=False, width=width)


def status(text: str) -> AbstractContextManager[Any]:
    """Show that something is under way, on a terminal alone."""
    return console(stderr=True).status(text) if sys.stderr.isatty() else nullcontext()
