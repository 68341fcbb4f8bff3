"""Packs the agent into one archive: aferir's modules, msgspec, and the measuring programs."""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import threading
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

import aferir
from aferir.errors import MissingError, ProgramError
from aferir.installed import installed
from aferir.programs.kernels import kernel_path

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Python version for which our msgspec is compiled; other versions need their own msgspec."""
MACHINE = platform.machine()
_PROGRAMS = ("aferir-inside", "core-frequency", "io-account", "launch")
_ROOT = Path(aferir.__file__).parent
_LIBRARY_FILE = "lib/libaferir-linux.so"
_LEFT_OUT = ("__pycache__", "report", "runner", "selftest", "store")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_packing = threading.RLock()
"""Lock held while a cached value is computed, as many threads connect hosts at once."""


class _File(msgspec.Struct, frozen=True):
    mode: int
    content: bytes


def digest() -> str:
    """SHA-256 of the agent's files in hexadecimal, by which a host recognises a copy that it has.

    It is computed from names, modes and contents, since most hosts do not need the archive.
    """
    with _packing:
        return _digest_once()


def archive() -> bytes:
    """The archive, for hosts without the agent; equal files give equal bytes.

    The first call takes one or two seconds. Errors: ProgramError if our files have changed since
    `digest` was called.
    """
    with _packing:
        return _archive_once()


@cache
def _digest_once() -> str:
    return _digest(_files())


@cache
def _archive_once() -> bytes:
    files = _files()
    if _digest(files) != _digest_once():
        raise ProgramError("the files of aferir have changed while it runs", remedy="start it anew")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for name, file in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = file.mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, file.content)
    return buffer.getvalue()


def _digest(files: Mapping[str, _File]) -> str:
    total = hashlib.sha256()
    for name, file in files.items():
        total.update(f"{name} {file.mode:o} {len(file.content)}\n".encode())
        total.update(file.content)
    return total.hexdigest()


def _files() -> dict[str, _File]:
    """Files of the agent by name, in the order of names."""
    paths = {**_modules(), **_library(), **_programs()}
    return {
        name: _File(paths[name].stat().st_mode & 0o777, paths[name].read_bytes())
        for name in sorted(paths)
    }


def _modules() -> dict[str, Path]:
    found = {}
    for path in _ROOT.rglob("*"):
        parts = path.relative_to(_ROOT).parts
        if path.suffix in (".py", ".java", ".toml") and _belongs(parts) and path.is_file():
            found["/".join(("aferir", *parts))] = path
    return found


def _belongs(parts: tuple[str, ...]) -> bool:
    return not any(part in _LEFT_OUT for part in parts[:-1])


def _library() -> dict[str, Path]:
    folder = Path(msgspec.__file__).parent
    return {
        f"compiled/msgspec/{path.name}": path
        for path in folder.iterdir()
        if path.suffix in (".py", ".so")
    }


def _programs() -> dict[str, Path]:
    found = {}
    for name in _PROGRAMS:
        try:
            found[f"aferir/kernels/{name}"] = kernel_path(name)
        except MissingError:
            continue
    library = installed(_LIBRARY_FILE)
    if library is not None and library.exists():
        found[f"aferir/{_LIBRARY_FILE}"] = library
    return found
