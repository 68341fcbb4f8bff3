"""Where text goes that is for people: standard error for progress, standard output for answers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

_WIDTH, _NARROWEST = 160, 20
"""Columns of a table that goes into a file or a pipe; and the fewest that anything fits into."""

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Make a console that is wide, and keeps quiet about colours, where there is no terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if not stream.isatty():
        return Console(stderr=stderr, highlight=False, width=_WIDTH)
    made = Console(stderr=stderr, highlight=False)
    made.width = max(made.width, _NARROWEST)  # COLUMNS=0, or a terminal that does not know
    return made


def status(text: str) -> AbstractContextManager[Any]:
    """Show that something is under way, on a terminal alone."""
    return console(stderr=True).status(text) if sys.stderr.isatty() else nullcontext()
