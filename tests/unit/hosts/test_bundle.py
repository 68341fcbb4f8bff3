"""The archive that becomes an agent."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from aferir.errors import ProgramError
from aferir.hosts import bundle


def test_an_agent_needs_nothing_but_python_and_what_is_in_its_archive(tmp_path: Path) -> None:
    """Hosts have no numpy, and reach no package index."""
    with zipfile.ZipFile(io.BytesIO(bundle.archive())) as archive:
        archive.extractall(tmp_path)
    places = [str(tmp_path), str(tmp_path / "compiled")]
    alone = f"import sys; sys.path[:] = {places!r} + sys.path; import aferir.hosts.agent"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", alone], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_files_are_the_same_bytes() -> None:
    digest, first = bundle.digest(), bundle.archive()
    bundle._digest_once.cache_clear()
    bundle._archive_once.cache_clear()
    assert (bundle.digest(), bundle.archive()) == (digest, first)


def test_files_that_changed_meanwhile_are_not_sent_under_the_old_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundle, "_digest_once", lambda: "of older files")
    bundle._archive_once.cache_clear()
    with pytest.raises(ProgramError, match="have changed"):
        bundle.archive()
