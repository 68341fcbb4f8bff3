"""`aferir fleet`: one of several hosts does more work than the others, and is reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aferir.cli import main

SCRIPT = "echo work_s=$((WORK * 1000 + $$ % 7))"


def test_the_host_with_more_work_is_named(tmp_path: Path) -> None:
    """What is compared is counted by the program: how busy this machine is has no part in it."""
    work = {f"node{k}": 100 for k in range(1, 6)} | {"node4": 105}
    hosts = tmp_path / "fleet.toml"
    tables = [
        f'[[host]]\nname = "{name}"\nreach = "env WORK={count} AFERIR_STATE={tmp_path / name}"\n'
        for name, count in work.items()
    ]
    hosts.write_text("".join(tables), encoding="utf-8")
    line = [sys.executable, "-m", "aferir", "fleet", "--hosts", str(hosts), "-n", "3", "--json"]
    line += ["--figure", "work_s=regex:work_s=([0-9]+)", "--metric", "work_s", "--script", SCRIPT]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    (group,) = told["groups"]
    assert [one["name"] for one in group["standings"] if one["differs"]] == ["node4"]
    assert group["standings"][-1]["name"] == "node4"
    assert told["said"][0].startswith("node4 is 5.0 % more in work_s than its four peers")


def test_without_hosts_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "--hosts", str(tmp_path / "none.toml"), "--", "true"]) == 2
    assert "none.toml" in capsys.readouterr().err
