"""Test files that must run one after another when several processes run tests at once.

All tests of a file are in one lane, since they share what the file makes. Files that use something
of which the machine has one are in a lane together. Lanes run beside each other.
"""

from __future__ import annotations

from fnmatch import fnmatch

TOGETHER = {
    "reserved processors": (
        "tests/integration/test_colocation_*.py",
        "tests/cli/test_colocate.py",
    ),
}
"""Patterns of files that share a lane, by what of the machine they share."""
LONGEST = (
    "reserved processors",
    "tests/integration/test_unified.py",
    "tests/integration/test_real_hosts.py",
    "tests/integration/test_cluster_guests.py",
    "tests/integration/test_bootable_disk.py",
    "tests/integration/test_studies_over_hosts.py",
    "tests/integration/test_vm.py",
    "tests/integration/test_cluster.py",
    "tests/cli/test_any_program.py",
    "tests/integration/test_aggregation.py",
    "tests/integration/test_elastic_hosts.py",
    "tests/unit/programs/stores/test_key_value.py",
    "tests/integration/test_io_layers.py",
    "tests/cli/test_explain.py",
    "tests/unit/clouds/test_field.py",
)
"""Lanes that start first: whoever begins a long one last is waited for."""


def lane_of(file: str) -> str:
    """Name of the lane of a test file: that of what it shares, or its own path."""
    for name, patterns in TOGETHER.items():
        if any(fnmatch(file, pattern) for pattern in patterns):
            return name
    return file


def turn_of(file: str) -> tuple[int, int]:
    """Key by which files are sorted: the longest lanes, then those that wait, then the rest."""
    lane = lane_of(file)
    place = LONGEST.index(lane) if lane in LONGEST else len(LONGEST)
    return place, 0 if file.startswith(("tests/integration/", "tests/cli/")) else 1
