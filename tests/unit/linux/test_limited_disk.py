"""The rules by which control groups limit a device."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.linux.limited_disk import NO_LIMITS, Limits, limit, limit_unified

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


def test_a_limit_of_requests_alone_is_a_limit() -> None:
    assert Limits(operations_per_s=1)
    assert not NO_LIMITS
