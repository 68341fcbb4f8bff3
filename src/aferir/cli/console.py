"""Output for people: progress on standard error, answers on standard output."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

_WIDTH, _NARROWEST = 160, 20
"""Width in columns of tables written to a file or a pipe, and smallest width used on a terminal."""

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Make a console; if the output is no terminal, lines are wide and have no colours."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if not stream.isatty():
        return Console(stderr=stderr, highlight=False, width=_WIDTH)
    made = Console(stderr=stderr, highlight=False)
    made.width = max(made.width, _NARROWEST)  # COLUMNS=0, or a terminal that does not know
    return made


def status(text: str) -> AbstractContextManager[Any]:
    """Show that something is in progress, on a terminal only."""
    return console(stderr=True).status(text) if sys.stderr.isatty() else nullcontext()


def note(text: str) -> None:
    """Print a message on standard error."""
    print(text, file=sys.stderr)
