"""Packs the drivers into one file that can be run in an instance."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

from aferir.errors import MissingError
from aferir.linux import journal

_INSIDE = Path(__file__).parent / "inside"
_ROOT = Path(__file__).parents[3]
_MAIN = """from aferir.programs.stores.inside.main import main
raise SystemExit(main())
"""
PYTHON = "/usr/bin/python3"
"""Path of Debian's Python, in images and on the host."""
PYTHON_PACKAGE = "python3"


def bundle() -> Path:
    """The file in the cache, which is created if needed, and depends on nothing but the sources.

    Errors: MissingError if the cache is not writable.
    """
    content = f"#!{PYTHON} -IS\n".encode() + packed()
    name = f"stores-{hashlib.sha256(content).hexdigest()[:16]}.pyz"
    path = journal.cache_folder() / "programs" / name
    if path.is_file():
        return path
    try:
        half = path.with_suffix(f".{os.getpid()}")
        journal.write_durably(half, content)
        half.chmod(0o755)
        half.replace(path)
    except OSError as error:
        raise MissingError(
            f"{path} cannot be written: {error.strerror}",
            remedy="name a folder that you may write to in AFERIR_CACHE",
        ) from None
    return path


def packed() -> bytes:
    """A zip file that Python runs (zipapp), with the drivers under their import names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", _MAIN)
        for package in ("aferir", "aferir/programs", "aferir/programs/stores"):
            _add(archive, f"{package}/__init__.py", "")
        for path in sorted(_INSIDE.glob("*.py")):
            name = path.relative_to(_ROOT).as_posix()
            _add(archive, name, path.read_text(encoding="utf-8"))
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    info = zipfile.ZipInfo(name)  # has a constant date
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, text)
