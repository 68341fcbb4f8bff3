"""`aferir clock check` and `clock read` on this machine."""

from __future__ import annotations

import json

import pytest

from aferir.cli import main
from aferir.clock.bench_program import PROGRAM
from aferir.errors import MissingError
from aferir.programs.kernels import kernel_path


@pytest.fixture(autouse=True)
def _program() -> None:
    try:
        kernel_path(PROGRAM)
    except MissingError as error:
        pytest.skip(error.message)


def test_check_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["clock", "check", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == (1 if document["invariance"] == "none" else 0)
    assert 1e6 < document["frequency_hz"] < 1e11
    assert document["uncertainty_ppb"] >= 0
    assert len(document["offsets"]) == document["cores_checked"]
    for offset in document["offsets"]:
        assert abs(offset["offset_s"]) < 1e-3 + offset["uncertainty_s"] or offset["applied"]


def test_check_says_it_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    main(["clock", "check"])
    out = capsys.readouterr().out
    for word in ("counter", "invariance", "MHz", "checked against core 0"):
        assert word in out


def test_read_gives_every_clock_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "read", "--rounds", "20", "--json"]) == 0
    clocks = json.loads(capsys.readouterr().out)["clocks"]
    costs = {clock["clock"]: clock for clock in clocks}
    assert {"rvec_read", "clock_gettime(CLOCK_MONOTONIC)"} <= costs.keys()
    for clock in clocks:
        assert 0 < clock["min_s"] <= clock["median_s"]
        assert clock["properties"], "a clock that nobody has described"
    assert main(["clock", "read", "--rounds", "20"]) == 0
    assert "rvec_read" in capsys.readouterr().out


def test_read_refuses_no_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "read", "--rounds", "0"]) == 2
    assert "--rounds" in capsys.readouterr().err
