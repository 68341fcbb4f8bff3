"""SIGKILL at random moments of a real native run: no record is lost or duplicated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import registry
from aferir.linux import journal
from aferir.store import list_runs, open_run
from tests.checkout import ROOT
from tests.unit.runner.child import plan
from tests.waiting import eventually

KILLS = 6


def start(runs: Path, state: Path) -> subprocess.Popen[bytes]:
    search = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.runner.child", str(runs)],
        env=os.environ | {"PYTHONPATH": search, "AFERIR_STATE": str(state)},
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )


def size_of(runs: Path) -> int:
    return sum(path.stat().st_size for path in runs.glob("*/records.jsonl"))


def is_complete(runs: Path) -> bool:
    return any(runs.glob("*/complete.json"))


def kill_while_it_runs(runs: Path, state: Path, rng: random.Random) -> None:
    """Kill a start of the run after it has begun to record."""
    before = size_of(runs)
    with start(runs, state) as child:
        while size_of(runs) == before and child.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.12))
        child.send_signal(signal.SIGKILL)
        child.wait()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of the test's own, and the check that what kills leave can be cleaned."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    yield tmp_path / "state"
    assert registry.clean(journal.orphans()) == []
    assert list(journal.entries()) == []


def test_every_repetition_is_there_once_after_any_kills(tmp_path: Path, state: Path) -> None:
    runs = tmp_path / "runs"
    rng = random.Random(20)  # noqa: S311
    starts = 0
    # Where this process is kept from its processor for long, the run ends before the last kill.
    while starts < KILLS and not is_complete(runs):
        kill_while_it_runs(runs, state, rng)
        starts += 1
    if not is_complete(runs):
        with start(runs, state) as child:
            _, stderr = child.communicate()
        starts += 1
        assert child.returncode == 0, stderr.decode()
    assert starts > 1
    found = list_runs(runs)
    assert [each.status for each in found] == ["complete"]
    made = open_run(found[0].folder)
    counts = Counter((record.cell, record.repetition, record.warmup) for record in made.records)
    cells = [cell.id for cell in plan().cells if cell.workload.name != "wrong"]
    turns = [(0, True), *((k, False) for k in range(25))]
    expected = {(cell, k, warm) for cell in (*cells, "native/allocation") for k, warm in turns}
    expected |= {("native/wrong", k, warm) for k, warm in turns[:3]}  # then it is given up
    assert set(counts) == expected
    assert set(counts.values()) == {1}
    assert len(made.provenance.segments) == starts


def test_a_kill_leaves_no_program_running(tmp_path: Path, state: Path) -> None:
    kill_while_it_runs(tmp_path / "runs", state, random.Random(1))  # noqa: S311
    mine = f"AFERIR_STATE={state}".encode()
    environments = Path("/proc").glob
    eventually(lambda: not any(mine in readable(path) for path in environments("[0-9]*/environ")))


def readable(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
