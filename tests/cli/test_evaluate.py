"""`aferir evaluate` on made-up runs, with the guide's profile."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.model.provenance import Provenance
from aferir.store import create_run
from tests.checkout import ROOT
from tests.unit.report.published.runs import Made, container, native, plan, records

GUIDE = ROOT / "docs/guides/evaluate.md"


def write_run(runs: Path, name: str, made: Sequence[Made], baseline: str = "native") -> None:
    """Write a complete run into a folder of that name."""
    with create_run(runs, plan(made, baseline), b"", Provenance(version="0")) as writer:
        for one in made:
            for record in records(one):
                writer.append(record)
        writer.folder.rename(runs / name)


def arms(program: str, metric: str, times: float, **parameters: str) -> list[Made]:
    return [
        Made(spec=spec, program=program, parameters={**parameters}, samples={metric: value})
        for spec, value in ((native(), 1e-6), (container(), times * 1e-6))
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The guide's profile, and runs in which the container takes a fifth longer."""
    runs = tmp_path / "runs"
    write_run(runs, "this-machine", arms("npb", "duration_s", 1.2))
    write_run(runs, "clock-cost", arms("clock", "read_of_monotonic_s", 1.0))
    tenants = [
        Made(
            spec=spec,
            program="npb",
            factors={"environment.tenants": n},
            samples={"duration_s": 1 + 0.1 * (n - 1)},
        )
        for n in (1, 2)
        for spec in (
            native(f"native[tenants={n}]", n),
            container(f"container[tenants={n}]", n),
        )
    ]
    write_run(runs, "tenants", tenants)
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    without_times = re.sub(r"-\d{8}T\d{6}Z", "", block)
    (tmp_path / "profile.toml").write_text(without_times, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_profile_of_the_guide_is_answered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "profile.toml"]) == 0
    said = capsys.readouterr().out
    assert "container is worth most for these weights" in said, "0.6² pays for 1.1⁴"
    assert "native would be first if the weight of performance rose from 4 to above" in said
    assert "no environment has a figure of energy" in said
    page = (folder / "profile.html").read_text(encoding="utf-8")
    assert "<h1>Nightly solver runs</h1>" in page
    assert "<h2>What is missing</h2>" in page
    assert "<script" not in page


@pytest.mark.usefixtures("folder")
def test_other_weights_say_that_they_change_the_winner(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["evaluate", "profile.toml", "--weight", "price=0"]) == 0
    said = capsys.readouterr().out
    assert "native is worth most for these weights" in said
    assert "These weights change the winner: by those of the file it would be container." in said
    assert main(["evaluate", "profile.toml", "--weight", "price=3"]) == 0
    assert "change the winner" not in capsys.readouterr().out


def test_json_is_one_document_and_writes_no_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "profile.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["environment"] for one in found["standings"]] == ["container", "native"]
    assert {"criterion": "energy", "environment": ""} in found["missing"]
    assert not (folder / "profile.html").exists()


def test_a_baseline_of_no_run_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = folder / "profile.toml"
    text = profile.read_text(encoding="utf-8")
    wrong = text.replace("[profile]", '[profile]\nbaseline = "natvie"')
    profile.write_text(wrong, encoding="utf-8")
    assert main(["evaluate", "profile.toml"]) == 2
    said = capsys.readouterr().err
    assert "no run has the baseline `natvie`" in said
    assert "did you mean `native`?" in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("weight", "said"),
    [("prise=1", "there is no criterion"), ("price=much", "is no weight")],
)
def test_a_wrong_weight_is_refused(
    capsys: pytest.CaptureFixture[str], weight: str, said: str
) -> None:
    assert main(["evaluate", "profile.toml", "--weight", weight]) == 2
    assert said in capsys.readouterr().err
