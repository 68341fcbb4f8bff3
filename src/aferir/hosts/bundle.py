"""Packs the agent into one archive: our modules, msgspec, and programs that measure others."""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import zipfile
from functools import cache
from pathlib import Path

import msgspec

import aferir
from aferir.errors import MissingError
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


class Bundle(msgspec.Struct, frozen=True):
    """Archive that is sent to a host without it."""

    digest: str
    """SHA-256 of the content in hexadecimal digits."""
    content: bytes


@cache
def bundle() -> Bundle:
    """Pack the archive; equal files give equal bytes. Takes one or two seconds."""
    files = {**_modules(), **_library(), **_programs()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(files):
            path = files[name]
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = (path.stat().st_mode & 0o777) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    content = buffer.getvalue()
    return Bundle(hashlib.sha256(content).hexdigest(), content)


def _modules() -> dict[str, Path]:
    found = {}
    for path in _ROOT.rglob("*"):
        parts = path.relative_to(_ROOT).parts
        if path.is_file() and path.suffix in (".py", ".java", ".toml") and _belongs(parts):
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
