"""A run that is interrupted at any stage is continued by the same command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aferir.store.reported import is_reported
from tests.waiting import eventually

EXPERIMENT = """
[experiment]
name = "small"
warmup = 0
[stop]
repetitions = 3
[[environment]]
name = "native"
kind = "native"
cpus = 1
[[workload]]
name = "EP"
program = "npb"
kernel = "ep"
class = "S"
"""
FORMS = {"report.html", "report.md", "report.json", "samples.csv", "summary.csv"}
Stage = Callable[[Path], bool]


def recording(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob("runs/*/records.jsonl"))


def complete(folder: Path) -> bool:
    return any(folder.glob("runs/*/complete.json"))


def reporting(folder: Path) -> bool:
    return any(folder.glob("runs/*/.report-*")) or any(folder.glob("runs/*/report.html"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(EXPERIMENT, encoding="utf-8")
    return tmp_path


@contextmanager
def aferir(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "aferir", *arguments],
        cwd=folder,
        env=os.environ | {"AFERIR_STATE": str(folder / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def again(folder: Path) -> str:
    with aferir(folder, "run", "small.toml") as child:
        _, said = child.communicate()
    assert child.returncode == 0, said
    return said.decode()


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        (recording, signal.SIGKILL),
        (complete, signal.SIGKILL),
        (reporting, signal.SIGKILL),
        (recording, signal.SIGHUP),
        (complete, signal.SIGTERM),
        (reporting, signal.SIGINT),
    ],
)
def test_the_same_command_finishes_a_run_that_was_ended(
    folder: Path, stage: Stage, number: signal.Signals
) -> None:
    with aferir(folder, "run", "small.toml") as child:
        eventually(lambda: stage(folder) or child.poll() is not None)
        child.send_signal(number)
        child.communicate()
    assert child.returncode in (0, 130, -number)
    (run,) = (folder / "runs").iterdir()
    goes_on = not is_reported(run)  # else everything was written before the signal came
    if goes_on:
        was_complete = complete(folder)
        said = again(folder)
        assert ("wants its report" if was_complete else "going on with") in said
    assert list((folder / "runs").iterdir()) == [run]
    left = {path.name for path in run.iterdir()}
    assert left >= FORMS
    if goes_on or child.returncode == 0:
        assert not [name for name in left if name.startswith(".")]
    records = [json.loads(line) for line in (run / "records.jsonl").read_bytes().splitlines()]
    assert sorted(r["repetition"] for r in records if r["cell"] == "native/EP") == [0, 1, 2]


def test_a_report_that_failed_is_written_by_the_same_command(folder: Path) -> None:
    with aferir(folder, "run", "small.toml") as child:
        child.communicate()
    (run,) = (folder / "runs").iterdir()
    (run / "report.json").unlink()
    assert "wants its report" in again(folder)
    assert {path.name for path in run.iterdir()} >= FORMS
    again(folder)
    assert len(list((folder / "runs").iterdir())) == 2
