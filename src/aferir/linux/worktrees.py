"""Worktrees of a git repository, in a folder that is removed after the run.

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
    """Worktrees of one repository that exist during a run."""

    entry: journal.Entry

    @property
    def mark(self) -> dict[str, str]:
        """Environment variables that mark processes in the worktrees for their removal."""
        return {undo.MARK: self.entry.id}

    def add(self, name: str, revision: str) -> Path:
        """Check out a revision and return its folder. Errors: ProgramError with git's message."""
        made = _folder(self.entry) / f"aferir-{self.entry.id}-{name}"
        words = ["git", "-C", self.entry.details["repository"], "worktree", "add", "--quiet"]
        words += ["--detach", str(made), revision]
        process.run(words, timeout_s=_LIMIT_S, environment=self.mark)
        return made

    def end_processes(self) -> None:
        """Kill the processes that have the worktrees' mark."""
        undo.kill_marked(self.entry.id)


@contextlib.contextmanager
def of(repository: Path) -> Iterator[Worktrees]:
    """Worktrees that are journalled and removed afterwards.

    Errors: ProgramError if there is no repository.
    """
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
    """Kill the processes in the worktrees, remove them, and their records in the repository.

    git itself would keep a worktree whose creation was killed, since it is locked meanwhile.
    Errors: OSError if something is left; then the entry is left too.
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
