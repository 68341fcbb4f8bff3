"""`aferir measure` and `aferir gate` from a user's point of view."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from aferir.cli import main
from aferir.linux import process
from aferir.linux.process import Completed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    return tmp_path


def aferir(folder: Path, *arguments: str) -> Completed:
    return process.run([sys.executable, "-m", "aferir", *arguments], directory=folder, check=False)


def test_a_command_is_measured_and_its_experiment_is_kept(folder: Path) -> None:
    (folder / "numbers").write_text("3\n1\n2\n", encoding="utf-8")
    done = aferir(
        folder,
        *("measure", "--in", "native", "-n", "2", "--save", "sort.toml", "--json"),
        *("--figure", "first(lower)=regex-first:[0-9]+", "--verify", "sort -c", "--"),
        *("sort", "-n", "numbers"),
    )
    assert done.exit_code == 0, done.stderr
    [cell] = json.loads(done.stdout)["evaluation"]["cells"]
    assert cell["duration"]["n"] == 2
    saved = tomllib.loads((folder / "sort.toml").read_text(encoding="utf-8"))
    assert saved["workload"][0]["files"] == ["numbers"]
    again = aferir(folder, "run", "sort.toml", "--check")
    assert again.stdout.startswith("sort.toml is right: 1 cells")


def test_an_input_with_a_relative_path_is_taken_along(folder: Path) -> None:
    (folder / "numbers").write_text("3\n", encoding="utf-8")
    options = ("--in", "native", "-n", "1", "--input", "numbers", "--expect", "3")
    done = aferir(folder, "measure", *options, "--", "cat")
    assert done.exit_code == 0, done.stderr


def test_a_result_that_is_wrong_is_no_result(folder: Path) -> None:
    done = aferir(
        folder, "measure", "--in", "native", "-n", "1", "--expect", "b", "--", "echo", "a"
    )
    assert done.exit_code == 1
    assert "not what was expected" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("measure",),
        ("measure", "--in", "natvie", "--", "true"),
        ("measure", "--in", "native", "--time", "soon", "--", "true"),
        ("measure", "--in", "native", "--figure", "x", "--", "true"),
        ("measure", "--in", "native", "--files", "none-such", "--", "true"),
        ("gate",),
        ("gate", "--base", "a", "--base-command", "b"),
        ("gate", "--at-most", "much", "--base-command", "a", "--head-command", "b"),
        ("gate", "--base-command", "a"),
    ],
)
def test_what_cannot_be_measured_starts_nothing(
    folder: Path,
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(arguments) in (2, 3)
    assert "remedy" in capsys.readouterr().err
    assert not list(folder.glob("runs/*/records.jsonl"))


def test_a_program_that_no_environment_has_fails_though_only_a_warm_up_ran(folder: Path) -> None:
    options = ("--in", "native", "--in", "native pin=[0]", "--warmup", "1", "-n", "3..3")
    done = aferir(folder, "measure", *options, "--", "aferir-has-no-such-program")
    assert done.exit_code == 1
    assert "were given up: there is no program `aferir-has-no-such-program`" in done.stdout


def two_versions(folder: Path) -> None:
    """Commit a program twice that prints a time, in the second version 100 times the first's.

    It did not take that time, so that the answer does not depend on what else the machine does.
    """
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for told_s in (2, 200):
        (folder / "bench").write_text(f"#!/bin/sh\necho told {told_s} s\n", encoding="utf-8")
        (folder / "bench").chmod(0o755)
        subprocess.run(["git", "add", "bench"], cwd=folder, check=True)
        subprocess.run(["git", *who, "commit", "-q", "-m", "x"], cwd=folder, check=True)


TOLD = ("--figure", "told_s(lower)=regex:told ([0-9]+)", "--metric", "told_s")


def test_a_gate_tells_a_version_that_takes_a_hundred_times_as_much(folder: Path) -> None:
    two_versions(folder)
    done = aferir(
        folder,
        *("gate", "--base", "HEAD~1", "--head", "HEAD", "--build", "cp bench built"),
        *("--at-most", "50%", "--time", "1000s", "-n", "8", *TOLD),
        *("--junit", "j.xml", "--markdown", "m.md", "--bencher", "b.json"),
        *("--github-benchmark", "g.json", "--", "sh", "built"),
    )
    assert done.exit_code == 1, done.stdout + done.stderr
    assert done.stdout.startswith("Failed: head is more than 50 % worse than base")
    assert ET.parse(folder / "j.xml").getroot().get("failures") == "1"  # noqa: S314 - our own
    assert "Failed" in (folder / "m.md").read_text(encoding="utf-8")
    assert json.loads((folder / "b.json").read_text(encoding="utf-8"))["sh built"]["latency"]
    assert json.loads((folder / "g.json").read_text(encoding="utf-8"))[0]["unit"] == "s"


@pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root")
def test_a_gate_may_run_inside_of_an_environment(folder: Path) -> None:
    """Each version finds the files of its own folder, and nothing of the other's."""
    two_versions(folder)
    done = aferir(
        folder,
        *("gate", "--in", "chroot cpus=1", "--base", "HEAD~1", "--head", "HEAD", "--at-most"),
        *("50%", "--time", "1000s", "-n", "8", *TOLD, "--", "./bench"),
    )
    assert done.exit_code == 1, done.stdout + done.stderr
    assert done.stdout.startswith("Failed: head is more than 50 % worse than base")


def test_a_program_that_fails_is_no_answer(folder: Path) -> None:
    done = aferir(
        folder, "gate", "--base-command", "false", "--head-command", "true", "--time", "600s"
    )
    assert done.exit_code == 4
    assert "exited with 1" in done.stderr


def test_a_gate_without_time_for_a_pair_is_undecided(folder: Path) -> None:
    both = ("--base-command", "sleep 1.2", "--head-command", "sleep 1.2")
    done = aferir(folder, "gate", *both, "--time", "1s")
    assert done.exit_code == 5, done.stdout + done.stderr
    assert "raise --time" in done.stderr
