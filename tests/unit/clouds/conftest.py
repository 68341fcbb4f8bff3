"""Gives tests of clouds a home and a state folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither credentials nor the journal of whoever runs the tests."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
