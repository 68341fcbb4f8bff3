"""Messages and remedies for refusals of the operating system."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from aferir.errors import RefusedError
from aferir.linux.refusal import expanded, home, is_refusal, owner_of, refusals, refused


def error(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EACCES, "may write"),
        (errno.EIO, "dmesg"),
        (errno.ENOTDIR, "is a file"),
    ],
)
def test_the_file_the_reason_and_what_helps_are_named(number: int, remedy: str) -> None:
    assert is_refusal(error(number))
    told = refused(error(number), "/a/file", "written")
    assert told.message.startswith(f"/a/file cannot be written: {os.strerror(number)}")
    assert remedy in told.remedy
    assert told.exit_code == 3


def test_a_call_of_ours_that_is_wrong_is_no_refusal() -> None:
    assert not is_refusal(error(errno.EINVAL))
    assert not is_refusal(error(errno.EBADF))


def test_the_file_that_the_reason_names_is_said_where_no_other_is() -> None:
    assert refused(error(errno.EROFS, "/b/file")).message.startswith("/b/file cannot be used")
    words = "No usable temporary directory found in ['/tmp']"
    told = refused(FileNotFoundError(errno.ENOENT, words))
    assert told.message == words
    assert "TMPDIR" in told.remedy


def test_within_it_every_refusal_is_said_of_one_file() -> None:
    told = pytest.raises(RefusedError, match="x cannot be made: File exists")
    with told, refusals("x", "made", remedy="another"):
        raise error(errno.EEXIST, "y")


def test_the_owner_of_a_file_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner_of(tmp_path / "not" / "there") == ""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert f"{tmp_path} belongs to " in owner_of(tmp_path / "not" / "there")


def test_without_a_home_nothing_is_written_but_what_need_not_be_there_may_be_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(RefusedError, match="no home folder") as caught:
        home()
    assert "AFERIR_STATE" in caught.value.remedy
    assert expanded("~/.euca") == Path("~/.euca")
