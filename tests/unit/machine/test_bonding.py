"""The check for the kernel's bonding driver, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import MissingError
from aferir.machine import bonding
from aferir.programs.network.sweep import NETWORK
from aferir.programs.npb.ranks import NPB_MPI
from tests.unit.programs.taking import command_of

pytestmark = pytest.mark.skipif(
    Path("/proc/net/bonding").exists(), reason="this kernel has loaded the driver"
)


def modprobe(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Have modprobe(8) find the module (0), or not (1)."""
    path = folder / "modprobe"
    path.write_text(f"#!/bin/sh\nexit {code}\n", encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_module_that_can_be_loaded_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modprobe(tmp_path, monkeypatch, 0)
    assert bonding.is_there()
    bonding.require("balance-rr")


def test_programs_over_a_bond_are_missing_what_the_kernel_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that their cells are left out with the remedy, and those of other methods run."""
    modprobe(tmp_path, monkeypatch, 1)
    for program, table in (
        (NPB_MPI, {"kernel": "cg", "class": "S", "processes": 4}),
        (NETWORK, {"transport": "mpi"}),
    ):
        with pytest.raises(MissingError, match="`balance-rr` needs the bonding driver") as error:
            command_of(program, {**table, "method": "balance-rr"})
        assert "modprobe bonding" in error.value.remedy
