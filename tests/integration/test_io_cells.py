"""Cells whose program runs out of memory or disk, or is killed; the next cell still runs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir import probes, registry, runner
from aferir.environments.limited import DiskSpec
from aferir.environments.lxc.spec import ContainerSpec
from aferir.linux import cgroup, journal
from aferir.model.plan import (
    SCRATCH,
    EnvironmentKind,
    EnvironmentSpec,
    Parameter,
    WorkloadSpec,
    once,
)
from aferir.model.record import Failure, Record
from aferir.programs.base import VOLUME, Program, image_packages
from aferir.programs.io.checkpoint import CHECKPOINT
from aferir.programs.mpi import MPIS, Mpi
from aferir.programs.npb.ranks import NPB_MPI
from tests.integration.support import leftovers, own_state, usable

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
    programs = {"doomed": (program, dict(given)), "after": ("wordcount", SMALL)}
    records = {one.workload: one for one in carry_out(environment, programs, folder)}
    after = records["after"]
    assert after.failure is None
    assert VOLUME in {sample.metric for sample in after.samples}
    failure = records["doomed"].failure
    assert failure is not None
    assert "\n" not in failure.message
    return failure


def carry_out(
    environment: EnvironmentSpec,
    programs: Mapping[str, tuple[str, dict[str, Parameter]]],
    folder: Path,
) -> list[Record]:
    """Run each cell once; return the records by name, and check that nothing is left."""
    usable(environment.kind)
    specs = [
        WorkloadSpec(name=name, program=program, parameters=given, time_limit_s=1200)
        for name, (program, given) in programs.items()
    ]
    plan = once("outcomes", environments=[environment], workloads=specs, time_limit_s=3600)
    found = runner.run(
        plan,
        folder,
        experiment=b"",
        kinds=registry.kinds(),
        workloads=registry.all_programs(),
        watch=runner.Watch(probes.all_probes()),
    )
    assert leftovers() == []
    return [record for record in found.records if record.workload != "allocation"]


def needs(mpi: Mpi, program: Program[Any]) -> None:
    if any(f.status != "ok" and mpi in f.message for f in program.check()):
        pytest.skip(f"there is no {mpi} here")


@pytest.mark.parametrize("mpi", MPIS)
def test_a_checkpoint_by_mpi_io_verifies_in_a_container(mpi: Mpi, tmp_path: Path) -> None:
    """Its MPI is in the image, since the experiment asks for it."""
    given: dict[str, Parameter] = {
        "api": "mpiio", "mpi": mpi, "collective": True, "segments": 2, "block_bytes": 2**20,
    }  # fmt: skip
    needs(mpi, CHECKPOINT)
    both = [(CHECKPOINT, {**given, "mpi": one}) for one in MPIS]  # one image to build, not two
    packages = image_packages(both)
    box = msgspec.structs.replace(container(2**30), packages=packages)
    [record] = carry_out(box, {"checkpoint": ("checkpoint", given)}, tmp_path)
    assert record.failure is None
    samples = {sample.metric: sample.value for sample in record.samples}
    assert samples[VOLUME] == 2 * 2 * 2 * 2**20
    assert samples["timed_user_s"] + samples["timed_system_s"] > 0


@pytest.mark.parametrize("kind", ["native", "container"])
def test_a_disk_of_its_own_is_held_to_its_rate_where_use_is_accounted_for(
    kind: EnvironmentKind,
) -> None:
    rate = 16_000_000
    limited = DiskSpec(
        name="e",
        kind=kind,
        cpus=1,
        memory_bytes=2**30,
        disk_bytes=64 * _MIB,
        disk_bps=rate,
        accounted=True,
    )
    instance = usable(kind).allocate(limited)
    try:
        assert {"blkio", "unified"} & instance.accounting.cgroups.keys()
        script = f'dd if=/dev/zero of="${SCRATCH}/file" bs=1M count=12 oflag=direct'
        clock = time.monotonic()
        instance.run(["sh", "-c", script], environment={SCRATCH: "/var/tmp"})
        assert time.monotonic() - clock > 0.5 * 12 * _MIB / rate
    finally:
        instance.release()
    assert leftovers() == []


def container(memory_bytes: int, disk_bytes: int | None = None) -> EnvironmentSpec:
    return ContainerSpec(name="e", cpus=1, memory_bytes=memory_bytes, disk_bytes=disk_bytes)


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


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_that_need_more_together_than_there_is_refuse_before_they_begin(
    mpi: Mpi, tmp_path: Path
) -> None:
    """A rank's share is 102 MiB, and there is room for two."""
    needs(mpi, NPB_MPI)
    limited = EnvironmentSpec(name="e", kind="native", cpus=1, memory_bytes=256 * _MIB)
    problem: dict[str, Parameter] = {"kernel": "is", "class": "B", "processes": 4, "mpi": mpi}
    failure = run(limited, "npb-mpi", tmp_path, **problem)
    assert failure.code == "out-of-memory"
    assert "MiB are available" in failure.message


def test_what_ranks_have_in_common_counts_once(tmp_path: Path) -> None:
    """The grids take 68 MiB, eight times that is not to be had."""
    needs("openmpi", NPB_MPI)
    limited = EnvironmentSpec(name="e", kind="native", cpus=1, memory_bytes=448 * _MIB)
    problem: dict[str, Parameter] = {
        "kernel": "mg", "class": "W", "processes": 8, "mpi": "openmpi",
    }  # fmt: skip
    (record,) = carry_out(limited, {"grids": ("npb-mpi", problem)}, tmp_path)
    assert record.failure is None


@pytest.mark.parametrize("kind", ["native", "container"])
def test_a_full_disk_is_told_and_empty_for_the_next(kind: EnvironmentKind, tmp_path: Path) -> None:
    environment = DiskSpec(name="e", kind=kind, cpus=1, memory_bytes=2**30, disk_bytes=64 * _MIB)
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
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(running[-1], signal.SIGKILL)
                return


def _first_word(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return b""
