"""Files for programs of other users are where those can reach them, or it is said why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aferir.errors import RefusedError
from aferir.linux import scratch

OPEN = Path("/var/tmp")  # every user may enter it, unlike pytest's folders


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))


def test_a_folder_that_is_closed_to_others_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch.folder(0o755, base=OPEN) as folder:
        (closed := folder / "closed").mkdir(mode=0o700)
        file = closed / "inner" / "video"
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        with pytest.raises(RefusedError, match=f"reach {file}: {closed} is closed") as refused:
            scratch.require_open(file)
        assert "TMPDIR" in refused.value.remedy
        closed.chmod(0o711)
        (closed / "inner").mkdir()
        scratch.require_open(file)


def test_only_root_has_programs_of_other_users(monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch.folder(0o700, base=OPEN) as folder:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        scratch.require_open(folder / "video")
