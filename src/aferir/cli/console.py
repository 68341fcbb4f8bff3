"""Where text goes that is for people: standard error for progress, standard output for answers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Make a console that keeps quiet about colours where the stream is no terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


def status(text: str) -> AbstractContextManager[Any]:
    """Show that something is under way, on a terminal alone."""
    return console(stderr=True).status(text) if sys.stderr.isatty() else nullcontext()
