"""Worktrees of a git repository, in a folder that goes away with the run.

Source: git-worktree(1), gitrepository-layout(5).
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.linux import journal, process, undo

KIND = "worktrees"
_LIMIT_S = 600.0


class Worktrees(msgspec.Struct, frozen=True):
    """Where the worktrees of one run are made."""

    entry: journal.Entry

    @property
    def mark(self) -> dict[str, str]:
        """Variables of what works in them, by which it is found and ended."""
        return {undo.MARK: self.entry.id}

    def add(self, name: str, revision: str) -> Path:
        """Check out a revision; its folder. Errors: ProgramError with what git says."""
        made = _folder(self.entry) / f"aferir-{self.entry.id}-{name}"
        words = ["git", "-C", self.entry.details["repository"], "worktree", "add", "--quiet"]
        words += ["--detach", str(made), revision]
        process.run(words, timeout_s=_LIMIT_S, environment=self.mark)
        return made

    def end_processes(self) -> None:
        """End what was started with the mark and still runs."""
        undo.kill_marked(self.entry.id)


@contextlib.contextmanager
def of(repository: Path) -> Iterator[Worktrees]:
    """Journalled, and removed in the end. Errors: ProgramError where there is no repository."""
    words = ["git", "-C", str(repository), "rev-parse", "--path-format=absolute"]
    common = process.run([*words, "--git-common-dir"], timeout_s=_LIMIT_S).stdout.strip()
    details = {"base": tempfile.gettempdir(), "common": common, "repository": str(repository)}
    entry = journal.write(KIND, details)
    try:
        _folder(entry).mkdir(mode=0o700)
        yield Worktrees(entry)
    finally:
        give_back(entry)


def give_back(entry: journal.Entry) -> None:
    """End what works there, remove the worktrees, and what the repository knows of them.

    git itself would keep one whose making was killed: it is locked meanwhile. Errors: OSError
    where something stays; the entry stays too then.
    """
    undo.kill_marked(entry.id)
    undo.remove_tree(_folder(entry))
    known = Path(entry.details["common"]) / "worktrees"
    for path in known.glob(f"aferir-{entry.id}-*"):
        undo.remove_tree(path)
    with contextlib.suppress(OSError):  # there are others, or there is none
        known.rmdir()
    journal.erase(entry)


def _folder(entry: journal.Entry) -> Path:
    return Path(entry.details["base"]) / f"aferir-{entry.id}"
