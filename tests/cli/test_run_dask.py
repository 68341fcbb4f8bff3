"""An experiment on the workers of a Dask cluster: groups of cells on several hosts."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.linux import process
from aferir.store import open_run
from tests.dask_cluster import dask_cluster, needs_dask

EXPERIMENT = """
[experiment]
name = "spread"
baseline = "here"
warmup = 0
[stop]
repetitions = 1
[[environment]]
name = "here"
kind = "native"
cpus = 1
memory = "64 MiB"
[[environment]]
name = "there"
kind = "native"
cpus = 1
memory = "64 MiB"
[[workload]]
name = "said"
program = "command"
command = ["echo", "{threads}"]
[factors]
threads = [1, 2, 3]
"""


@contextlib.contextmanager
def another_host(scheduler: str, address: str, state: Path) -> Iterator[None]:
    """A worker at another address of this machine, with a state folder of its own."""
    worker = ["--host", address, "--nthreads", "2", "--no-nanny", "--no-dashboard"]
    child = process.start(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *worker],
        stderr=subprocess.PIPE,
        environment={"AFERIR_STATE": str(state)},
    )
    assert child.stderr is not None
    try:
        assert any("Registered to" in said for said in child.stderr)
        yield
    finally:
        child.terminate()
        child.communicate()


@needs_dask
def test_groups_run_on_several_hosts_and_one_that_fails_runs_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the third host nothing runs, for its state folder is a file."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    file, runs = tmp_path / "spread.toml", tmp_path / "runs"
    file.write_text(EXPERIMENT, encoding="utf-8")
    well, sick = tmp_path / "other", file
    with (
        dask_cluster(1, tmp_path) as scheduler,
        another_host(scheduler, "127.0.0.2", well),
        another_host(scheduler, "127.0.0.3", sick),
    ):
        code = main(["run", str(file), "--dask", scheduler, "--runs", str(runs)])
    said = capsys.readouterr().err
    assert code == 0, said
    assert "failed on 127.0.0.3" in said
    (folder,) = runs.iterdir()
    run = open_run(folder)
    placed = run.provenance.facts["groups"]
    assert placed.keys() == {f"said/threads={level}" for level in (1, 2, 3)}
    assert set(placed.values()) == {"127.0.0.1", "127.0.0.2"} == set(run.provenance.facts["hosts"])
    cells = Counter((one.cell, one.repetition) for one in run.records if one.group in placed)
    assert cells == Counter({(cell.id, turn): 1 for cell in run.plan.cells for turn in (0,)})
    assert "groups-on-hosts" in [one.code for one in run.provenance.warnings]
