"""How a cell ends whose program runs out of memory or disk, or is killed; the next one goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.support import leftovers, own_state, usable

from aferir import journal, probes, runner, workloads
from aferir.environments import by_kind, cgroup
from aferir.model.plan import (
    Cell,
    EnvironmentKind,
    EnvironmentSpec,
    Parameter,
    Plan,
    StoppingRule,
    WorkloadSpec,
)
from aferir.model.record import Failure, Record
from aferir.workloads.base import VOLUME

pytestmark = pytest.mark.integration
SMALL: dict[str, Parameter] = {"file_bytes": 2**20, "terms": 2000}
_MIB = 2**20


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def run(environment: EnvironmentSpec, program: str, folder: Path, **given: Parameter) -> Failure:
    """Why that program has no figures there; that one after it in the same instance does well.

    Past what an experiment file may say: it would be refused before it ran.
    """
    usable(environment.kind)
    specs = [
        WorkloadSpec(name="doomed", program=program, parameters=given, time_limit_s=120),
        WorkloadSpec(name="after", program="wordcount", parameters=SMALL, time_limit_s=120),
    ]
    cells = [
        Cell(id=f"e/{one.name}", group=one.name, environment="e", workload=one) for one in specs
    ]
    plan = Plan(
        name="outcomes",
        title="Outcomes",
        baseline="e",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=1, emulated=1),
        time_limit_s=400,
        environments=(environment,),
        cells=tuple(cells),
    )
    found = runner.run(
        plan,
        folder,
        experiment=b"",
        environments={environment.kind: by_kind(environment.kind)},
        workloads=workloads.all_workloads(),
        watch=runner.Watch(probes.all_probes()),
    )
    assert leftovers() == []
    records: dict[str, Record] = {record.workload: record for record in found.records}
    after = records["after"]
    assert after.failure is None
    assert VOLUME in {sample.metric for sample in after.samples}
    failure = records["doomed"].failure
    assert failure is not None
    assert "\n" not in failure.message
    return failure


def container(memory_bytes: int, disk_bytes: int = 0) -> EnvironmentSpec:
    return EnvironmentSpec(
        name="e", kind="container", cpus=1, memory_bytes=memory_bytes, disk_bytes=disk_bytes
    )


def test_a_program_past_the_memory_of_its_container_is_said_to_be_out_of_memory(
    tmp_path: Path,
) -> None:
    failure = run(container(32 * _MIB), "wordcount", tmp_path, terms=2_000_000)
    assert failure.code == "out-of-memory"
    assert "the kernel killed" in failure.message


def test_a_program_that_sees_that_memory_is_short_refuses_as_out_of_memory(tmp_path: Path) -> None:
    limited = EnvironmentSpec(name="e", kind="native", cpus=1, memory_bytes=32 * _MIB)
    failure = run(limited, "wordcount", tmp_path, terms=2_000_000)
    assert failure.code == "out-of-memory"
    assert "MiB are available" in failure.message


@pytest.mark.parametrize("kind", ["native", "container"])
def test_a_full_disk_is_told_and_empty_for_the_next(kind: EnvironmentKind, tmp_path: Path) -> None:
    environment = EnvironmentSpec(
        name="e", kind=kind, cpus=1, memory_bytes=2**30, disk_bytes=64 * _MIB
    )
    failure = run(environment, "dedup", tmp_path, file_bytes=256 * _MIB)
    assert failure.code == "disk-full"
    assert "no space left on the device" in failure.message


def test_a_program_that_somebody_kills_is_told_from_one_out_of_memory(tmp_path: Path) -> None:
    ended = threading.Event()
    killer = threading.Thread(target=_kill_soon, args=(b"/opt/aferir/dedup", ended.is_set))
    killer.start()
    try:
        failure = run(container(2**30), "dedup", tmp_path, file_bytes=512 * _MIB)
    finally:
        ended.set()
        killer.join()
    assert failure.code == "killed"
    assert "was killed" in failure.message


def _kill_soon(program: bytes, over: Callable[[], bool]) -> None:
    """SIGKILL to the last started process of that program in a container of this test."""
    while not over():
        time.sleep(0.2)
        groups = [
            path
            for entry in journal.entries()
            for path in cgroup.find(f"aferir-{entry.id}", cgroup.layout())
        ]
        inside = sorted({pid for group in groups for pid in cgroup.members(group)})
        running = [pid for pid in inside if _first_word(pid) == program]
        if len(running) > 1:
            os.kill(running[-1], signal.SIGKILL)
            return


def _first_word(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return b""
