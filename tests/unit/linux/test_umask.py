"""Trees in which other users run programs are readable for them, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cluster import storing
from aferir.linux import journal, process
from aferir.linux.umask import everybody_reads


@pytest.fixture(params=[0o027, 0o077])
def handed_on(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("handed_on")
def test_the_folder_of_a_cluster_and_what_children_make_in_it_can_be_read_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    storing.folder("x").parent.mkdir(parents=True)
    with storing.claimed("readable", journal.write("test", {})) as folder:
        process.run(["sh", "-c", f"mkdir {folder}/tree && echo > {folder}/tree/file"])
        (folder / "more").write_text("x", encoding="ascii")
        assert folder.stat().st_mode & 0o777 == 0o755
        assert (folder / "tree").stat().st_mode & 0o777 == 0o755
        assert (folder / "tree/file").stat().st_mode & 0o777 == 0o644
        assert (folder / "more").stat().st_mode & 0o777 == 0o644


@pytest.mark.usefixtures("handed_on")
def test_what_is_made_private_stays_private(tmp_path: Path) -> None:
    everybody_reads()
    (tmp_path / "own").mkdir(mode=0o700)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
