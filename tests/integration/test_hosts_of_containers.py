"""The hosts on which the bench of studies runs steps over hosts."""

from __future__ import annotations

import os

import pytest

from aferir.config import hosts_of
from aferir.linux import process
from benchmarks.studies import hosts
from tests.integration.support import own_state

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="hosts of containers need root"),
]
LOOK = """
hostname
ls -d /sys/class/net/eth*
ls -d /sys/fs/cgroup/*/ > /dev/null && echo groups
ls /run/netns && echo networks
LC_ALL=C
echo > /dev/tcp/10.0.1.2/9
"""


def test_each_has_a_name_and_control_groups_and_reaches_the_others(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosts.connected(own_state(tmp_path_factory, monkeypatch)) as file:
        found = hosts_of(file.read_bytes(), source=str(file))
        assert [host.name for host in found] == [f"node{k}" for k in range(1, 7)]
        done = process.run([*found[0].reach, "bash", "-c", LOOK], check=False)
    assert done.stdout.split() == ["node1", "/sys/class/net/eth0", "groups", "networks"]
    assert "Connection refused" in done.stderr, "another host is there, on which nothing listens"
