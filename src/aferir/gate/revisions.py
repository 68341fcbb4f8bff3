"""Two revisions of a git repository, each built in a worktree of its own, which goes in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import process, scratch

_GIT_LIMIT_S = 600.0


class Built(msgspec.Struct, frozen=True):
    """A revision that is checked out and built."""

    revision: str
    """Its whole name."""
    folder: Path


@contextlib.contextmanager
def built(
    repository: Path, revisions: tuple[str, str], build: str, limit_s: float
) -> Iterator[tuple[Built, Built]]:
    """Both revisions, each built by the shell command `build` in its worktree.

    The folder is journalled, so that `aferir clean` removes what a killed run leaves; git forgets
    a worktree whose folder is gone. Errors: UsageError where a revision is not known, ProgramError
    with what it said where a build fails.
    """
    names = [_resolve(repository, revision) for revision in revisions]
    with scratch.folder() as folder:
        made: list[Built] = []
        try:
            for side, name in zip(("base", "head"), names, strict=True):
                made.append(_check_out(repository, name, folder / side))
            for one in made:
                _build(one, build, limit_s)
            yield made[0], made[1]
        finally:
            _forget(repository, made)


def _resolve(repository: Path, revision: str) -> str:
    try:
        return _git(
            repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        )
    except ProgramError:
        raise UsageError(
            f"git knows no revision {revision!r} in {repository}",
            remedy="name a branch, a tag or a commit; in a shallow clone fetch it first: "
            "git fetch --depth=1 origin BRANCH",
        ) from None


def _check_out(repository: Path, revision: str, folder: Path) -> Built:
    _git(repository, "worktree", "add", "--quiet", "--detach", str(folder), revision)
    return Built(revision, folder)


def _forget(repository: Path, made: Sequence[Built]) -> None:
    """Whatever goes wrong, the folders go with the one that they are in."""
    for one in made:
        with contextlib.suppress(AferirError):
            _git(repository, "worktree", "remove", "--force", str(one.folder))
    with contextlib.suppress(AferirError):
        _git(repository, "worktree", "prune")


def _build(one: Built, command: str, limit_s: float) -> None:
    if not command:
        return
    done = process.run(["sh", "-c", command], directory=one.folder, timeout_s=limit_s, check=False)
    if done.exit_code != 0:
        raise ProgramError(
            f"the build of {one.revision[:12]} {process.explain_exit(done)}",
            remedy=f"see what `{command}` says in a clean checkout of it",
        )


def _git(repository: Path, *words: str) -> str:
    """What git says. Errors: ProgramError, MissingError where there is no git."""
    return process.run(
        ["git", "-C", str(repository), *words], timeout_s=_GIT_LIMIT_S
    ).stdout.strip()
