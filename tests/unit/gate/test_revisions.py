"""Two revisions are built in worktrees of their own, which are removed completely."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aferir.errors import ProgramError, TimeoutExpired, UsageError
from aferir.gate.revisions import built
from aferir.linux import cleaning, journal, undo
from tests.asleep import nobody_elses
from tests.waiting import eventually

COMMIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-a", "-m", "x")


def git(folder: Path, *words: str) -> str:
    line = ["git", "-C", str(folder), *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in ("1", "2"):
        (folder / "number").write_text(number, encoding="utf-8")
        git(folder, "add", ".")
        git(folder, *COMMIT)
    return folder


def test_each_is_built_as_it_was_and_goes(repository: Path) -> None:
    (repository / "number").write_text("changed", encoding="utf-8")
    with built(repository, ("HEAD~1", "main"), "cat number number > built", 60) as pair:
        assert [(one.folder / "built").read_text(encoding="utf-8") for one in pair] == ["11", "22"]
        folders = [one.folder for one in pair]
        assert git(repository, "worktree", "list").count("\n") == 3
    assert not any(folder.exists() for folder in folders)
    assert git(repository, "worktree", "list").count("\n") == 1
    assert (repository / "number").read_text(encoding="utf-8") == "changed"


def test_a_build_that_fails_says_why_and_leaves_nothing(repository: Path) -> None:
    with (
        pytest.raises(ProgramError, match="exited with 3: no compiler"),
        built(repository, ("HEAD~1", "HEAD"), "echo no compiler >&2; exit 3", 60),
    ):
        pass
    assert git(repository, "worktree", "list").count("\n") == 1


def test_what_a_build_leaves_in_the_background_is_ended_and_not_waited_for(
    repository: Path,
) -> None:
    seconds = nobody_elses()
    line = f"(exec setsid sleep {seconds}) & echo built > it"
    with built(repository, ("HEAD~1", "HEAD"), line, 60) as pair:
        assert all((one.folder / "it").exists() for one in pair)
        assert undo.processes(lambda words, _: seconds in words) == []


def test_a_build_that_does_not_end_is_ended(repository: Path) -> None:
    seconds = nobody_elses()
    with (
        pytest.raises(TimeoutExpired),
        built(repository, ("HEAD~1", "HEAD"), f"sleep {seconds} & sleep {seconds}", 0.5),
    ):
        pass
    assert undo.processes(lambda words, _: seconds in words) == []


def test_a_revision_that_is_not_known_is_named(repository: Path) -> None:
    with (
        pytest.raises(UsageError, match="no revision 'none'"),
        built(repository, ("none", "HEAD"), "", 60),
    ):
        pass


def test_a_folder_without_a_repository_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.resolve().parent))
    with (
        pytest.raises(UsageError, match="not in a git repository"),
        built(tmp_path, ("main", "HEAD"), "", 60),
    ):
        pass


def test_a_revision_that_looks_like_an_option_is_refused(repository: Path) -> None:
    with pytest.raises(UsageError), built(repository, ("--help", "HEAD"), "", 60):
        pass


BUILDING = """
import sys
from pathlib import Path
from aferir.gate.revisions import built
line = f"(exec setsid sleep {sys.argv[2]}) & echo > up; exec sleep {sys.argv[2]}"
with built(Path(sys.argv[1]), ("HEAD~1", "HEAD"), line, 600):
    pass
"""


def test_what_a_kill_leaves_is_removed_and_the_repository_knows_nothing_of_it(
    repository: Path,
) -> None:
    """A worktree is locked while it is made: git itself would keep it for good."""
    seconds = nobody_elses()
    child = subprocess.Popen([sys.executable, "-c", BUILDING, str(repository), seconds])
    known = repository / ".git" / "worktrees"
    eventually(lambda: _building(repository))
    child.kill()
    child.wait()
    for folder in known.iterdir():
        (folder / "locked").write_text("initializing", encoding="utf-8")
    [entry] = journal.orphans()
    assert cleaning.clean([entry], cleaning.LINUX) == []
    assert not known.exists()
    assert undo.processes(lambda words, _: seconds in words) == []
    assert git(repository, "worktree", "list").count("\n") == 1
    assert list(journal.entries()) == []


def _building(repository: Path) -> bool:
    lines = git(repository, "worktree", "list", "--porcelain").splitlines()
    folders = [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]
    return any(Path(folder, "up").exists() for folder in folders)
