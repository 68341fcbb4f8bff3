"""Disks with limits: by control groups, and with seeks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aferir.errors import MissingError, ProgramError
from aferir.linux import seeking_disk, seeking_plugin, undo
from aferir.linux.journal import Entry
from aferir.linux.limited_disk import (
    NO_LIMITS,
    Limits,
    file_of,
    give_back,
    limit,
    limit_unified,
    make,
    mount,
)

NULL = Path("/dev/null")
"""Device 1:3 on every Linux."""


def rules(group: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="ascii") for path in group.iterdir()}


def test_version_1_has_a_file_for_each_limit_and_direction(tmp_path: Path) -> None:
    limit(tmp_path, NULL, Limits(50_000_000, 100))
    assert rules(tmp_path) == {
        "blkio.throttle.read_bps_device": "1:3 50000000",
        "blkio.throttle.write_bps_device": "1:3 50000000",
        "blkio.throttle.read_iops_device": "1:3 100",
        "blkio.throttle.write_iops_device": "1:3 100",
    }
    limit(tmp_path, NULL, NO_LIMITS)
    assert set(rules(tmp_path).values()) == {"1:3 0"}


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        (Limits(50_000_000), "1:3 rbps=50000000 wbps=50000000 riops=max wiops=max"),
        (Limits(operations_per_s=100), "1:3 rbps=max wbps=max riops=100 wiops=100"),
        (NO_LIMITS, "1:3 rbps=max wbps=max riops=max wiops=max"),
    ],
)
def test_version_2_has_one_rule(tmp_path: Path, limits: Limits, rule: str) -> None:
    limit_unified(tmp_path, NULL, limits)
    assert rules(tmp_path) == {"io.max": rule}


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of one's own takes root")
def test_a_disk_that_seeks_keeps_what_was_written_and_leaves_nothing() -> None:
    try:
        entry, device = make(2**26, Limits(seek_s=1e-4))
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    try:
        written = os.urandom(2**20)
        device.write_bytes(written)  # synced when it is closed, as of each block device
        assert file_of(entry).read_bytes()[: 2**20] == written
        folder = mount(entry, device)
        (folder / "file").write_text("text", encoding="ascii")
    finally:
        give_back(entry)
    assert [path for path in file_of(entry).parent.iterdir() if entry.id in path.name] == []
    assert undo.processes(lambda _, variables: variables.get(undo.MARK) == entry.id) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of one's own takes root")
def test_a_server_that_ends_at_once_is_told_with_what_it_said(tmp_path: Path) -> None:
    entry = Entry(id="f00d", kind="disk", owner_pid=1, owner_started=0, boot_id="", details={})
    file = tmp_path / "there_is_none"
    try:
        with pytest.raises(ProgramError, match=r"nbdfuse did not start: .*nbd"):
            seeking_disk.serve(entry, file, 1e-4)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    finally:
        seeking_disk.give_back(entry, file)
    assert list(tmp_path.iterdir()) == []


def test_the_head_seeks_where_a_request_is_elsewhere_until_nobody_measures(tmp_path: Path) -> None:
    file, over = tmp_path / "file", tmp_path / "over"
    file.write_bytes(bytes(100))
    disk = seeking_plugin.Disk(str(file), 0.008, str(over))
    asked = (0, 10, 20, 50, 60, 0)
    assert [disk.reach(offset, 10) for offset in asked] == [0, 0, 0, 0.008, 0, 0.008]
    over.touch()
    assert [disk.reach(offset, 10) for offset in asked] == [0] * 6
    os.close(disk.descriptor)


def test_a_limit_of_requests_alone_is_a_limit() -> None:
    assert Limits(operations_per_s=1)
    assert not NO_LIMITS
