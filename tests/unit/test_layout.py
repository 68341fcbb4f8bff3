"""Tests are laid out as the sources are, and files and functions are short."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.checkout import ROOT

MOST_LINES, MOST_LINES_OF_A_FUNCTION = 350, 60
SOURCES = sorted(
    path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NATIVE_PAGE = (ROOT / "native/README.md").read_text(encoding="utf-8")


def test_folders_are_those_of_the_package() -> None:
    here = ROOT / "tests/unit"
    tests = {path.parent.relative_to(here) for path in here.rglob("*.py")}
    package = {path.parent.relative_to(ROOT / "src/aferir") for path in ROOT.glob("src/**/*.py")}
    assert tests - package == set()
    modules = {f"test_{path.name}" for path in ROOT.glob("src/aferir/*.py")}
    assert {path.name for path in here.glob("test_*.py")} - modules == {Path(__file__).name}


def test_no_file_is_longer_than_one_thing_takes() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    long = {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > MOST_LINES}
    assert long == {}, "split them by what they hold"


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{name}": lines
        for path in SOURCES
        for name, lines in functions(path.read_text(encoding="utf-8")).items()
        if lines > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}, "tell them in steps"


def functions(code: str) -> dict[str, int]:
    """Lines of every function, from its name to its end."""
    return {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_lines_of_a_function_are_counted() -> None:
    assert functions("def a():\n    x = 1\n    return x\n\n\nasync def b(): pass\n") == {
        "a": 3,
        "b": 1,
    }


@pytest.mark.parametrize(
    "folder", sorted({path.parent.name for path in (ROOT / "src/aferir").glob("*/*.py")})
)
def test_the_page_of_the_architecture_names_every_folder_of_code(folder: str) -> None:
    assert f"\n  {folder}/ " in PAGE


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in (ROOT / "native").iterdir() if path.is_dir())
)
def test_the_page_of_native_code_names_every_folder(folder: str) -> None:
    assert f"`{folder}/" in NATIVE_PAGE
