from __future__ import annotations

import json
from pathlib import Path

import pytest

from aferir.cli import main

QUICK = ["elastic", "simulate", "--clients", "60", "--interarrival", "5", "--runs", "3"]


def rows(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, float]]:
    assert main([*QUICK, "--json", *more]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert isinstance(found, list)
    return found


def test_a_setting_is_varied_and_more_patience_blocks_fewer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    varied = ["--allocation", "40,4", "--vary", "patience=5,20,90"]
    blocked = [row["blocked_percent"] for row in rows(capsys, *varied)]
    assert blocked[0] > blocked[1] > blocked[2] == 0
    assert rows(capsys, *varied) != rows(capsys, *varied, "--seed", "2")


def test_latencies_come_from_a_file_of_measured_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "measured.txt"
    path.write_text("100.0\n110.0\n", "utf-8")
    (row,) = rows(capsys, "--allocation", str(path))
    assert row["blocked_percent"] > 0


def test_the_table_has_a_row_for_each_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--vary", "warm=0,1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["warm", "0", "1"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--allocation", "absent.txt"), "neither numbers nor a file"),
        (("--allocation", "-3"), "no latency"),
        (("--allocation", "nan"), "no latency"),
        (("--vary", "colour=1"), "there is no setting `colour`"),
        (("--vary", "pateince=1"), "did you mean `patience`"),
        (("--vary", "warm"), "has no values"),
        (("--vary", "patience=x"), "no number"),
        (("--patience", "nan"), "patience_s"),
        (("--clients-per-node", "0"), "at least one client"),
        (("--quota", "0"), "nobody is served"),
        (("--clients", "0"), "clients"),
        (("--interarrival", "-1"), "interarrival"),
        (("--video", "inf"), "video"),
        (("--predict", "5"), "not two numbers"),
        (("--runs", "0"), "at least one"),
        (("--seed", "-1"), "not negative"),
    ],
)
def test_an_impossible_option_is_named(
    more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, *more]) == 2
    assert said in capsys.readouterr().err


def test_the_best_and_the_worst_run_are_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "courses.svg"
    varied = ["--allocation", "40,4", "--vary", "patience=5,20", "--picture", str(path)]
    found = rows(capsys, *varied)
    words = path.read_text(encoding="utf-8")
    for row in found:
        for which in ("best", "worst"):
            said = f"patience {row['patience']}, {which} of 3 runs: {row[f'blocked_{which}']} of 60"
            assert said in words
    assert main([*QUICK, "--picture", str(tmp_path / "courses.png")]) == 2
