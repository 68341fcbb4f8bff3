"""`aferir gate` on two made-up runs that were made one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from aferir.cli import main
from aferir.model.provenance import Provenance
from aferir.model.record import Sample
from aferir.store import create_run
from tests.unit.report.published.runs import Made, native, plan, records


def written(runs: Path, name: str, instructions: Sequence[float]) -> str:
    """Write a complete run of that name, with one repetition for each value; returns its path."""
    made = Made(spec=native(), program="command")
    pattern = records(made)[0]
    with create_run(runs, plan([made], "native"), b"", Provenance(version="0")) as writer:
        for number, value in enumerate(instructions):
            samples = (Sample("instructions", value, "1"),)
            writer.append(msgspec.structs.replace(pattern, repetition=number, samples=samples))
        writer.folder.rename(runs / name)
    return str(runs / name)


@pytest.mark.parametrize(
    ("head", "code", "median"),
    [([100.0] * 8, 0, 100.0), ([101.0] * 8, 1, 101.0), ([90.0, 92.0] * 4, 0, 91.0)],
)
def test_not_more_than_before_may_be_asked_of_a_count(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    head: list[float],
    code: int,
    median: float,
) -> None:
    base, changed = written(tmp_path, "base", [100.0] * 8), written(tmp_path, "head", head)
    asked = ["gate", "--base-run", base, "--head-run", changed, "--metric", "instructions"]
    assert main([*asked, "--at-most", "0%", "--json"]) == code
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["base_value"], verdict["head_value"]) == (100.0, median)


def test_without_a_figure_in_common_nothing_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path, "base", [100.0] * 8)
    assert main(["gate", "--base-run", run, "--head-run", run, "--metric", "misses"]) == 4
    assert "0 cells in common that have `misses`" in capsys.readouterr().err
