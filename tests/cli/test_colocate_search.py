"""`aferir colocate search`: a real search on few runs of the model, and errors of use."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.config import colocation
from aferir.linux import process
from tests.waiting import eventually

QUICK = ["colocate", "search", "--duration", "3", "--load", "0.5"]


def test_what_is_found_is_told_with_what_it_was_compared_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*QUICK, "--candidates", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trials"] == 5 * (2 * 2 + 2 * 8)
    assert [len(one["ours"]) for one in told["beside"]] == [8] * 5
    assert 0 < told["beside"][0]["defaults"][0]["batch_share"] < 1


def test_the_defaults_beside_themselves_are_no_better(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--candidates", "1", "--processes", "1"]) == 0
    said = capsys.readouterr().out
    assert "batch work 1.000 times" in said
    assert "nothing was found" in said


def test_a_search_that_is_killed_leaves_no_workers() -> None:
    words = [*QUICK, "--candidates", "400", "--processes", "2"]
    child = process.start([sys.executable, "-m", "aferir", *words])
    try:
        workers = eventually(lambda: two_workers(child.pid))
        child.kill()
        child.wait()
        eventually(lambda: not any(one.exists() for one in workers))
    finally:
        process.end(child)


def two_workers(pid: int) -> list[Path]:
    """Process IDs of a search's workers, once both have started."""
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    workers = [Path("/proc", one) for one in told]
    started = sum("spawn_main" in (one / "cmdline").read_text() for one in workers)
    return workers if started == 2 else []


def test_parameters_in_a_file_are_those_of_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text("[parameters]\nshrink = 0.3\nnice = -3\n")
    assert colocation.read(path).parameters == {"shrink": 0.3, "nice": -3}


@pytest.mark.parametrize(
    "wrong",
    [
        ["--candidates", "0"],
        ["--parameters", "magic"],
        ["--parameters", "nice"],
        ["--load", "much"],
        ["--processes", "0"],
    ],
)
def test_a_wrong_command_line_is_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, *wrong]) == 2
    assert "remedy" in capsys.readouterr().err
