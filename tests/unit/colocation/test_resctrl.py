"""The lever of caches and memory bandwidth, on files as the kernel documents them (resctrl.rst)."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.colocation import remembered
from aferir.colocation.applying import Machine
from aferir.colocation.levers import cache
from aferir.colocation.settings import Batch, Settings
from aferir.linux import cgroup, journal
from aferir.linux.cgroup import Layout


def _resctrl(root: Path, schemata: str) -> None:
    """The root group of resctrl, and what it says of its resources."""
    root.mkdir(exist_ok=True)
    (root / "schemata").write_text(schemata)
    for line in schemata.splitlines():
        name, _, domains = line.strip().partition(":")
        info = root / "info" / name
        info.mkdir(parents=True)
        (info / "cbm_mask").write_text(domains.partition(";")[0].partition("=")[2] + "\n")
        (info / "min_cbm_bits").write_text("2\n")
        (info / "min_bandwidth").write_text("10\n")
        (info / "bandwidth_gran").write_text("10\n")


@pytest.mark.parametrize(
    ("schemata", "percent", "written"),
    [
        ("L3:0=fffff;1=fffff\n", 50, "L3:0=3ff;1=3ff\n"),
        ("L3:0=fffff;1=fffff\n", 1, "L3:0=3;1=3\n"),
        ("L3:0=fffff;1=fffff\n", None, "L3:0=fffff;1=fffff\n"),
        ("L3DATA:0=ff\nL3CODE:0=ff\n", 30, "L3DATA:0=7\nL3CODE:0=7\n"),
        ("    MB:0=100;1=100\n    L3:0=ffff;1=ffff\n", 12, "MB:0=20;1=20\nL3:0=3;1=3\n"),
        ("MB:0=100\n", None, "MB:0=100\n"),
        ("MB:0=2048;1=2048\nL2:0=ff;1=ff\n", 50, ""),
    ],
    ids=["half", "least", "all", "code-and-data", "bandwidth", "all-bandwidth", "no-percent"],
)
def test_a_part_of_the_caches_is_written_as_the_hardware_takes_it(
    schemata: str, percent: int | None, written: str, tmp_path: Path
) -> None:
    _resctrl(tmp_path, schemata)
    assert cache.schemata(percent, tmp_path) == written


def test_the_batch_has_a_group_of_resctrl_only_where_something_can_be_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "ROOT", tmp_path / "resctrl")
    assert cache.make("aferir-1") is None
    assert cache.remove("aferir-1") == []
    _resctrl(tmp_path / "resctrl", "L3:0=f\n")
    group = cache.make("aferir-1")
    assert group is not None
    usual, less = Batch(), Batch(cache_percent=50)
    assert cache.change(usual, usual, group) == []
    assert not (group / "schemata").exists()
    assert cache.change(usual, less, group) == []
    assert (group / "schemata").read_text() == "L3:0=3\n"
    (group / "schemata").unlink()
    assert cache.remove("aferir-1") == []
    assert not group.exists()
    assert "cannot be changed" in cache.change(less, usual, group)[0]


def test_the_batch_enters_its_group_beside_its_control_group_and_both_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(cache, "ROOT", tmp_path / "resctrl")
    monkeypatch.setattr(cgroup, "layout", lambda: Layout(v2=tmp_path / "root"))
    _resctrl(tmp_path / "resctrl", "L3:0=ff\n")
    (tmp_path / "root").mkdir()
    for file in ("cgroup.controllers", "cgroup.subtree_control"):
        (tmp_path / "root" / file).write_text("\n")
    machine = Machine(entry := journal.write(remembered.KIND, {}))
    own = machine.cache
    assert own == tmp_path / "resctrl" / f"aferir-{entry.id}"
    group = machine.group.folders["unified"]
    assert machine.entrances == [str(group / "cgroup.procs"), str(own / "tasks")]
    assert machine.apply(Settings(batch=Batch(cache_percent=25)), {}).problems == ()
    assert (own / "schemata").read_text() == "L3:0=3\n"
    (own / "schemata").unlink()  # the kernel's files go with their folder
    assert remembered.undo(entry) == []
    assert not own.exists()
