"""Joins and decompresses a package's files that are split or compressed (DSP0243 1.1.0, 7.1)."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Collection
from pathlib import Path

from aferir.cluster.ovf import File
from aferir.errors import UsageError

_COPIED = 1 << 20


def names(file: File, present: Collection[str]) -> list[str]:
    """Names of a file's pieces in their order; its own name if it is not split.

    Pieces have numbers of nine digits from 0 on. If the last ones are missing, the total size
    is too small. Errors: UsageError if the first one is missing.
    """
    if not file.chunk_bytes:
        found = [file.href] if file.href in present else []
    else:
        found = []
        while (name := f"{file.href}.{len(found):09}") in present:
            found.append(name)
    if file.chunk_bytes and file.href in present:
        raise UsageError(f"the package holds {file.href} whole and in pieces")
    if not found:
        raise UsageError(f"the package was truncated: {file.href} is missing")
    return found


def join(file: File, folder: Path) -> None:
    """Join the pieces of a file under its own name, decompress it, and remove the pieces.

    Errors: UsageError if it is compressed but no gzip; OSError.
    """
    whole = folder / file.href
    if file.chunk_bytes:
        parts = [folder / name for name in names(file, {one.name for one in folder.iterdir()})]
        with whole.open("xb") as target:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target, _COPIED)
                part.unlink()
    if file.is_compressed:
        _decompress(whole)


def _decompress(path: Path) -> None:
    """Replace a gzip file by its decompressed contents."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as target:
        try:
            with gzip.open(path) as source:
                shutil.copyfileobj(source, target, _COPIED)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UsageError(f"{path.name} is no gzip: {error}") from None
    Path(target.name).replace(path)
