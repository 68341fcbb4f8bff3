"""Small packages that add things to aferir by entry points, installed as pip would install them."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from aferir.environments import base as environments
from aferir.programs import base as programs


def installed(
    folder: Path, patch: pytest.MonkeyPatch, *, name: str, code: str, points: str
) -> None:
    """A distribution with one module of that name and those lines of `entry_points.txt`."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    patch.syspath_prepend(str(folder))


def example_kind() -> str:
    """The module that the documentation of kinds shows, as it stands there."""
    return _example(environments)


def example_program() -> str:
    """The module that the documentation of programs shows."""
    return _example(programs)


def _example(module: ModuleType) -> str:
    said = inspect.getdoc(module) or ""
    lines = [line for line in said.splitlines() if line.startswith("    ") or not line]
    return "from __future__ import annotations\n" + textwrap.dedent("\n".join(lines))
