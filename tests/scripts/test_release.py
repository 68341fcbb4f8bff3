"""Version, date and requirements are the same wherever a release states them."""

import re
import tomllib

import aferir
from tests.checkout import ROOT

RECIPE = ROOT / "packaging/spack/spack_repo/aferir/packages/aferir/package.py"
COMPILED_IN = {"nanobind-backend"}
"""Packages that the recipe lacks: see AFERIR_ONE_PYTHON in native/clock/cmake/python.cmake."""


def test_the_recipe_requires_the_python_packages_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = dict(text.split(">=") for text in project["dependencies"])
    found = re.findall(
        r'depends_on\("py-([\w-]+)@([\d.]+):", type="run"\)', RECIPE.read_text(encoding="utf-8")
    )
    assert dict(found) == {
        name: least for name, least in required.items() if name not in COMPILED_IN
    }


def test_the_newest_changes_are_those_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (.*)$", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == f"{aferir.__version__}, {aferir.RELEASED}"
