"""The archive that becomes an agent."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from aferir.hosts.bundle import bundle


def test_an_agent_needs_nothing_but_python_and_what_is_in_its_archive(tmp_path: Path) -> None:
    """Hosts have no numpy, and reach no package index."""
    with zipfile.ZipFile(io.BytesIO(bundle().content)) as archive:
        archive.extractall(tmp_path)
    places = [str(tmp_path), str(tmp_path / "compiled")]
    alone = f"import sys; sys.path[:] = {places!r} + sys.path; import aferir.hosts.agent"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", alone], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_files_are_the_same_bytes() -> None:
    first = bundle()
    bundle.cache_clear()
    assert bundle() == first
