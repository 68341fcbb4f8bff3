"""Limits of memory and disks, with files in place of the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.colocation import protecting, remembered
from aferir.colocation.levers import disk, latency, memory
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Batch, Settings


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


def _machine(folder: Path, scheduler: str, qos: str, *files: str) -> dict[str, Path]:
    """Files of one disk, of the root of version 2, and of a group that has these."""
    (folder / "block/sda/queue").mkdir(parents=True)
    (folder / "block/sda/dev").write_text("8:0\n")
    (folder / "block/sda/queue/scheduler").write_text(scheduler)
    group = folder / "root/group"
    group.mkdir(parents=True)
    (folder / "root/io.cost.qos").write_text(qos)
    for file in files:
        (group / file).write_text("")
    return {"unified": group}


@pytest.mark.parametrize(
    ("scheduler", "qos", "files", "can"),
    [
        ("none mq-deadline [bfq]", "", ("io.bfq.weight",), True),
        ("none [mq-deadline] bfq", "", ("io.bfq.weight",), False),
        ("[none]", "8:0 enable=1 ctrl=auto", ("io.weight",), True),
        ("[none]", "8:0 enable=0 ctrl=auto", ("io.weight",), False),
        ("[bfq]", "8:0 enable=1 ctrl=auto", (), False),
    ],
)
def test_weights_of_disks_count_where_a_scheduler_or_io_cost_uses_them(
    scheduler: str, qos: str, files: tuple[str, ...], can: bool, tmp_path: Path
) -> None:
    folders = _machine(tmp_path, scheduler, qos, *files)
    assert disk.can_weigh(folders, tmp_path / "block", tmp_path / "root") is can


def test_a_weight_is_written_as_each_file_takes_it_and_none_is_the_default(tmp_path: Path) -> None:
    folders = _machine(tmp_path, "[bfq]", "", "io.weight", "io.bfq.weight")
    usual, low = Batch(), Batch(disk_weight=1)
    assert disk.writes(usual, low, folders) == [
        ("unified", "io.bfq.weight", "1"),
        ("unified", "io.weight", "default 1"),
    ]
    assert disk.writes(low, usual, folders)[0] == ("unified", "io.bfq.weight", "100")
    assert disk.writes(low, low, folders) == []


def test_groups_beside_the_batch_have_one_target_of_latency_and_batches_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(disk, "disks", lambda: ("8:0",))
    found = {"aferir-1": "", "aferir-2": "", "db": "8:0 target=5000\n", "system": "", "user": ""}
    root = tmp_path / "root"
    for name, text in found.items():
        (root / name).mkdir(parents=True)
        (root / name / "io.latency").write_text(text)
    (root / "no-disks").mkdir()
    batch = {"unified": root / "aferir-1"}
    usual, aimed = Settings(), Settings(disk_target_s=0.02)
    record, problems = protecting.change((), batch, (usual, aimed), Remembered(id="1"))
    assert problems == []
    assert remembered.read("1") == record
    target = dict.fromkeys(("system", "user"), "8:0 target=20000")
    assert {name: (root / name / "io.latency").read_text() for name in found} == found | target
    (root / "user/io.latency").unlink()  # the group has gone
    (root / "user").rmdir()
    assert protecting.change((), batch, (aimed, usual), record) == (record, [])
    assert (root / "system/io.latency").read_text() == "8:0 target=max"


def test_each_disk_has_a_target_of_its_own() -> None:
    assert latency.lines(0.0015, ("8:0", "8:16")) == "8:0 target=1500\n8:16 target=1500"
    assert latency.lines(None, ("8:0",)) == "8:0 target=max"
