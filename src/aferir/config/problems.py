"""Errors in an experiment file: collected and reported together, with path and remedy."""

from __future__ import annotations

import msgspec

from aferir.errors import UsageError

REFERENCE = "docs/reference/experiment-file.md"
_MOST_SHOWN = 40


class Problem(msgspec.Struct, frozen=True):
    """One error in an experiment file."""

    path: str
    """Path in the file, e.g. `environment[2].memory`: the second `[[environment]]`."""
    message: str
    remedy: str


class Problems:
    """Errors of one file, so that a user can correct them all at once."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, path: str, message: str, remedy: str) -> None:
        """Add an error, unless the same one is there already."""
        problem = Problem(path, message, remedy)
        if problem not in self.found:
            self.found.append(problem)

    def error(self, source: str, *, reference: str = REFERENCE) -> UsageError:
        """All errors as one exception, a line each; `reference` is the page with the keys."""
        count = len(self.found)
        lines = [f"{p.path}: {p.message}; {p.remedy}" for p in self.found[:_MOST_SHOWN]]
        if count > _MOST_SHOWN:
            lines.append(f"and {count - _MOST_SHOWN} more")
        head = f"{source} has {count} problem{'s' if count != 1 else ''}:"
        return UsageError(
            "\n  ".join([head, *lines]),
            remedy=f"correct that and start again; {reference} describes every key",
        )
