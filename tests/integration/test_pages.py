"""Huge and merged pages of real instances."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from aferir.environments.native import Native
from aferir.errors import MissingError
from aferir.linux import journal, pages
from aferir.model.plan import EnvironmentSpec
from aferir.registry import clean

PLAIN = EnvironmentSpec(name="native", kind="native", cpus=1, memory_bytes=0)
MERGING = msgspec.structs.replace(PLAIN, merge_pages=True)


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))


def inside(spec: EnvironmentSpec, path: str) -> str:
    instance = Native().allocate(spec)
    try:
        return instance.run(["cat", path]).stdout
    finally:
        instance.release()


def test_huge_pages_can_be_kept_from_an_instance() -> None:
    assert "THP_enabled:\t1" in inside(PLAIN, "/proc/self/status")
    without = msgspec.structs.replace(PLAIN, huge_pages=False)
    assert "THP_enabled:\t0" in inside(without, "/proc/self/status")


@pytest.mark.skipif(
    not Path("/proc/self/ksm_stat").exists() or os.geteuid() != 0,
    reason="needs root and a kernel that merges pages of a process (Linux 6.4)",
)
def test_pages_of_an_instance_may_be_merged() -> None:
    assert "ksm_merge_any: yes" in inside(MERGING, "/proc/self/ksm_stat")
    assert "ksm_merge_any: no" in inside(PLAIN, "/proc/self/ksm_stat")


def test_the_hosts_switch_is_set_back_by_the_last_who_needed_it(tmp_path: Path) -> None:
    switch = tmp_path / "run"
    switch.write_text("2\n", "ascii")
    assert pages.begin(PLAIN, switch) is None
    first, second = pages.begin(MERGING, switch), pages.begin(MERGING, switch)
    assert first is not None
    assert second is not None
    pages.give_back(first)
    assert switch.read_text("ascii") == "1"
    pages.give_back(second)
    assert switch.read_text("ascii") == "2"
    assert list(journal.entries()) == []


def test_a_killed_run_is_undone_by_cleaning(tmp_path: Path) -> None:
    switch = tmp_path / "run"
    switch.write_text("0", "ascii")
    pages.begin(MERGING, switch)
    assert clean(list(journal.entries())) == []
    assert switch.read_text("ascii") == "0"


def test_a_kernel_that_merges_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="this kernel does not"):
        pages.begin(MERGING, tmp_path / "absent")
    assert list(journal.entries()) == []
