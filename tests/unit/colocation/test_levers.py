"""Levers of memory and disks, as far as files can stand for the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.colocation.levers import disk, memory


def test_a_disk_that_is_removed_meanwhile_is_left_out(tmp_path: Path) -> None:
    for name in ("sda", "loop0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dev").write_text("8:0\n")
    (tmp_path / "sdb" / "dev").mkdir(parents=True)  # cannot be read, like one that has gone
    assert disk.disks(tmp_path) == ("8:0",)


def test_every_group_above_the_services_is_protected_from_the_top_down(tmp_path: Path) -> None:
    group = tmp_path / "a.slice" / "b.slice" / "web.service"
    group.mkdir(parents=True)
    for folder in (tmp_path, group.parent.parent, group):
        (folder / "memory.low").write_text("0\n")
    found = memory.protection(group, tmp_path)
    assert found == [tmp_path / "a.slice" / "memory.low", group / "memory.low"]


@pytest.mark.parametrize(("held", "below"), [("0", True), ("4095", True), ("4096", False)])
def test_a_protection_that_is_as_large_stays(held: str, below: bool) -> None:
    assert memory.is_below(held, 4096) is below
    assert not memory.is_below("max", 4096)
