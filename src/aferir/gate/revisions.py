"""Builds two revisions of a git repository in temporary worktrees."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.errors import ProgramError, TimeoutExpired, UsageError
from aferir.linux import process, worktrees
from aferir.linux.worktrees import Worktrees

_GIT_LIMIT_S = 600.0


class Built(msgspec.Struct, frozen=True):
    """A revision that is checked out and built."""

    revision: str
    """Full hash of the commit."""
    folder: Path


@contextlib.contextmanager
def built(
    repository: Path, revisions: tuple[str, str], build: str, limit_s: float
) -> Iterator[tuple[Built, Built]]:
    """Both revisions, each built by the shell command `build` in its worktree.

    Worktrees are journalled, so that `aferir clean` removes what a killed run leaves. Errors:
    UsageError for an unknown revision, ProgramError with the build's output if a build fails.
    """
    names = [_resolve(repository, revision) for revision in revisions]
    with worktrees.of(repository) as place:
        base, head = (
            Built(name, place.add(side, name))
            for side, name in zip(("base", "head"), names, strict=True)
        )
        for one in (base, head):
            _build(one, build, limit_s, place)
        yield base, head


def _resolve(repository: Path, revision: str) -> str:
    try:
        return _git(
            repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        )
    except ProgramError as error:
        if "not a git repository" in error.message:
            raise UsageError(
                f"{repository.resolve()} is not in a git repository",
                remedy="start it in a clone, or name one with --repository",
            ) from None
        raise UsageError(
            f"git knows no revision {revision!r} in {repository}",
            remedy="name a branch, a tag or a commit; in a shallow clone fetch it first: "
            "git fetch --depth=1 origin BRANCH",
        ) from None


def _build(one: Built, command: str, limit_s: float, place: Worktrees) -> None:
    """Build one revision; its background processes are killed, to disturb no measurement."""
    if not command:
        return
    log = one.folder.with_suffix(".log")
    with log.open("w", encoding="utf-8") as said:
        child = process.start(
            ["sh", "-c", command],
            directory=one.folder,
            environment=place.mark,
            stdout=said.fileno(),
            stderr=said.fileno(),
        )
        try:
            code = child.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise TimeoutExpired(
                f"the build of {one.revision[:12]} was ended after {limit_s:g} s",
                remedy="give it more time: --limit",
            ) from None
        finally:
            process.end(child)
            place.end_processes()
    if code != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        why = " / ".join([line.strip() for line in lines if line.strip()][-3:])
        raise ProgramError(
            f"the build of {one.revision[:12]} exited with {code}: {why or 'it said nothing'}",
            remedy=f"see what `{command}` says in a clean checkout of it",
        )


def _git(repository: Path, *words: str) -> str:
    """Output of git. Errors: ProgramError, MissingError if git is not installed."""
    return process.run(
        ["git", "-C", str(repository), *words], timeout_s=_GIT_LIMIT_S
    ).stdout.strip()
