"""A test is found where what it tests is."""

from __future__ import annotations

from pathlib import Path

from tests.checkout import ROOT


def test_folders_are_those_of_the_package() -> None:
    here = ROOT / "tests/unit"
    tests = {path.parent.relative_to(here) for path in here.rglob("*.py")}
    package = {path.parent.relative_to(ROOT / "src/aferir") for path in ROOT.glob("src/**/*.py")}
    assert tests - package == set()
    modules = {f"test_{path.name}" for path in ROOT.glob("src/aferir/*.py")}
    assert {path.name for path in here.glob("test_*.py")} - modules == {Path(__file__).name}
