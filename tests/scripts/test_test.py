"""`make test` runs every test."""

from __future__ import annotations

import tomllib

from tests.checkout import ROOT


def test_two_pytests_go_through_all_folders_of_tests() -> None:
    lines = (ROOT / "scripts/test").read_text(encoding="utf-8").splitlines()
    named = [
        folder
        for line in lines
        if line.startswith(("computing=", "waiting="))
        for folder in line.partition("=")[2].strip('"').split()
    ]
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(options["tool"]["pytest"]["ini_options"]["testpaths"])
