from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from aferir.cli import main

QUICK = ["clock", "simulate", "--nodes", "300"]


def test_it_prints_each_level_and_what_a_day_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--topology", "two-level"]) == 0
    out = capsys.readouterr().out
    assert "two-level: 300 nodes set in" in out
    assert "median/99 %/max" in out
    assert re.search(r"^ +2 +276 .* 100 %", out, flags=re.MULTILINE)
    assert "Errors 24 h later: up to" in out


def test_json_is_one_document_and_a_seed_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for seed in ("5", "5", "6"):
        assert main([*QUICK, "--json", "--seed", seed, "--topology", "all", "--hold", "60"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert documents[0]["simulations"] != documents[2]["simulations"]
    assert [s["topology"] for s in documents[0]["simulations"]] == [
        "one-level",
        "two-level",
        "tree",
    ]
    assert documents[0]["simulations"][0]["hold_s"] == 60


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_a_picture_stands_alone(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"clock.{ending}"
    assert main([*QUICK, "--topology", "all", "--picture", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    text = path.read_text(encoding="utf-8")
    svgs = re.findall(r"<svg .*?</svg>", text, flags=re.DOTALL)
    assert len(svgs) == 1
    words = " ".join(ET.fromstring(svgs[0]).itertext())  # noqa: S314 - our own
    for name in ("one-level", "two-level", "tree, doubling", "one look alone", "Dutra 2015"):
        assert name in words
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", text))
    assert used
    for name in used:
        assert f"{name}:" in text, "a colour that nobody defines"
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r'(?:href|src)="(?!#)', text)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--nodes", "0"],
        ["--arity", "1"],
        ["--arity", "4", "--topology", "two-level"],
        ["--hold", "-1"],
        ["--hold", "inf"],
        ["--hold", "nan"],
        ["--seed", "-1"],
        ["--picture", "clock.png"],
        ["--picture", "no-such-folder/clock.svg"],
    ],
)
def test_a_wrong_line_is_refused_with_a_remedy(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, *wrong]) == 2
    assert "remedy:" in capsys.readouterr().err
