"""Every experiment file that is shipped is right, on a machine of two cores and 4 GiB."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.config import load
from aferir.model.plan import HostLimits
from aferir.registry import all_programs, kinds
from tests.checkout import ROOT

FOLDER = ROOT / "experiments"
SMALL = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_experiment_can_be_planned(path: Path) -> None:
    plan = load(path, SMALL, all_programs(), kinds())
    assert plan.name == path.stem
    assert plan.cells
