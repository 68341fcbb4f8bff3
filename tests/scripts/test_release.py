"""Version, date and requirements are the same wherever a release states them."""

import re
import tomllib

import aferir
from tests.checkout import ROOT

RECIPE = ROOT / "packaging/spack/spack_repo/aferir/packages/aferir/package.py"
COMPILED_IN = {"nanobind-backend"}
"""Packages that the recipe lacks: see AFERIR_ONE_PYTHON in native/clock/cmake/python.cmake."""


def test_the_recipe_requires_the_python_packages_of_the_project() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    required = {"run": document["project"]["dependencies"]}
    required["build"] = document["build-system"]["requires"]
    recipe = RECIPE.read_text(encoding="utf-8")
    for when, texts in required.items():
        found = re.findall(rf'depends_on\("py-([\w-]+)@([\d.]+):", type="{when}"\)', recipe)
        least = dict(text.split(">=") for text in texts)
        assert dict(found) == {name: least[name] for name in least if name not in COMPILED_IN}


def test_the_newest_changes_are_those_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (.*)$", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == f"{aferir.__version__}, {aferir.RELEASED}"
