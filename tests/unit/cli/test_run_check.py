"""`aferir run --check`, for this machine and for another one that is described."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from aferir.cli import run
from aferir.errors import AferirError, UsageError

EXPERIMENT = """
[experiment]
name = "there"
title = "On a host"
baseline = "there"
warmup = 0
time_limit = "1 min"
[stop]
repetitions = 1
[[host]]
name = "node1"
reach = "ssh node1"
[[environment]]
name = "there"
kind = "container"
host = "node1"
cpus = 8
[[workload]]
name = "EP"
program = "npb"
kernel = "ep"
class = "S"
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "there.toml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return str(path)


def check(*words: str) -> int:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    return run.execute(parser.parse_args([*words]))


def test_a_file_is_checked_for_a_described_machine_and_hosts_like_it(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(file, "--check", "--machine", "8,16GiB") == 0
    assert "right: 1 cells, at most 1 repetitions within 1 min" in capsys.readouterr().out
    with pytest.raises(AferirError) as caught:
        check(file, "--check", "--machine", "4,16GiB")
    assert "asks for 8 CPUs, and this host has 4" in str(caught.value.message)


@pytest.mark.parametrize("text", ["8", "8,", ",8GiB", "0,8GiB", "8,8", "many,8GiB"])
def test_what_is_no_machine_is_refused(file: str, text: str) -> None:
    with pytest.raises(UsageError, match="not CPUS,MEMORY"):
        check(file, "--check", "--machine", text)


def test_a_machine_is_for_a_check_alone(file: str) -> None:
    with pytest.raises(UsageError, match="for a check alone"):
        check(file, "--machine", "8,8GiB")
