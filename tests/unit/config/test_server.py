"""The table `[server]`, and environments with a disk of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from aferir.config.load import plan_of
from aferir.environments.native import Native, NativeSpec
from aferir.errors import UsageError
from aferir.model.plan import SCRATCH, HostLimits, ServerSpec
from aferir.registry import all_programs, kinds

HOST = HostLimits(cpus=(0, 1), memory_bytes=2**32)


def document(**changes: object) -> dict[str, Any]:
    environment = {"name": "native", "kind": "native"}
    workload = {"name": "ep", "program": "npb", "kernel": "ep", "class": "S"}
    base = {"experiment": {"name": "x"}, "environment": [environment], "workload": [workload]}
    return {**base, **changes}


def test_a_server_makes_environments_accounted() -> None:
    plan = plan_of(
        document(server={"peak_w": 400, "idle": [0, 0.7]}), HOST, all_programs(), kinds()
    )
    assert plan.server == ServerSpec(cores=2, peak_w=400.0, idle_fractions=(0.0, 0.7))
    assert all(one.accounted for one in plan.environments)
    bare = plan_of(document(), HOST, all_programs(), kinds())
    assert bare.server is None
    assert not any(one.accounted for one in bare.environments)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"idle": [0.5]}, "peak_w"),
        ({"peak_w": 0}, "peak_w"),
        ({"peak_w": 400, "idle": [1.0]}, "idle"),
        ({"peak_w": 400, "idle": []}, "idle"),
        ({"peak_w": 400, "idle": 0.7}, "idle"),
        ({"peak_w": 400, "watts": 1}, "watts"),
    ],
)
def test_a_server_that_cannot_be_is_refused(table: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=f"server.{said}"):
        plan_of(document(server=table), HOST, all_programs(), kinds())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"disk_rate": "1 MB"}, "disk_rate"),
        ({"disk_operations": 100}, "disk_operations"),
        ({"disk_seek": "8 ms"}, "disk_seek"),
        ({"disk": "1 MiB"}, "disk"),
        ({"disk": "1 GiB", "kind": "vm"}, "disk"),
    ],
)
def test_a_disk_that_cannot_be_is_refused(keys: dict[str, str | int], said: str) -> None:
    environment = {"name": "native", "kind": "native", **keys}
    with pytest.raises(UsageError, match=f"environment\\[1\\].{said}"):
        plan_of(document(environment=[environment]), HOST, all_programs(), kinds())


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of one's own takes root")
def test_programs_find_their_folder_on_the_environments_own_disk() -> None:
    spec = NativeSpec(
        name="slow",
        cpus=1,
        memory_bytes=2**32,
        disk_bytes=64 * 2**20,
        disk_bps=10_000_000,
        disk_operations=1000,
    )
    instance = Native().allocate(spec)
    try:
        script = f'df --output=source,target "${SCRATCH}" | tail -1'
        found = instance.run(["sh", "-c", script], environment={SCRATCH: "/var/tmp"})
        device, folder = found.stdout.split()
        assert device.startswith("/dev/loop")
    finally:
        instance.release()
    assert folder not in Path("/proc/self/mounts").read_text(encoding="utf-8")
