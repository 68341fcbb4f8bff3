"""Loads that run while power is read, and the use of CPUs beside the watts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from aferir.power.load import LOADS, busy
from aferir.power.watch import CpuUse
from tests.waiting import eventually


def children() -> dict[int, Path]:
    """Children of this process with their folder in /proc."""
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return {int(pid): Path("/proc") / pid for pid in told.split()}


@pytest.mark.parametrize("load", LOADS)
def test_each_cpu_has_a_process_of_its_own_and_none_is_left(load: str) -> None:
    if load == "ffmpeg" and shutil.which("ffmpeg") is None:
        pytest.skip("apt-get install ffmpeg")
    before = set(children())
    [cpu, *_] = sorted(os.sched_getaffinity(0))
    with busy(load, [cpu]):  # type: ignore[arg-type]
        [new] = set(children()) - before
        assert os.sched_getaffinity(new) == {cpu}
        eventually(lambda: ticks(new) > 2)
    assert set(children()) <= before


def ticks(pid: int) -> int:
    """User time of a process in ticks (proc(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11])


def test_the_use_of_cpus_is_what_passed_between_two_looks(tmp_path: Path) -> None:
    stat = tmp_path / "stat"

    def passed(busy_ticks: int, idle_ticks: int) -> None:
        stat.write_text(f"cpu {busy_ticks} 0 0 {idle_ticks} 0 0 0 0 0 0\n", encoding="ascii")

    passed(100, 100)
    used = CpuUse(stat)
    assert used.document()["mean"] is None
    passed(200, 100)
    used.look(0.5)
    used.look(1.0)  # no tick has passed
    passed(250, 250)
    used.look(1.5)
    assert used.at_s == [0.5, 1.5]
    assert used.shares == pytest.approx([1.0, 0.25])
    assert used.mean == pytest.approx(150 / 300)
