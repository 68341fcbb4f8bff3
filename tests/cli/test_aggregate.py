"""`aferir aggregate`: output for users, and errors of use."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from aferir.cli import main


def test_advice_is_given_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aggregate", "plan", "--rates-mbit", "1000,1000", "--switch", "lacp"]) == 0
    said = capsys.readouterr().out
    assert "Take bonding, mode 802.3ad." in said
    assert "because" in said
    assert "1 of 2 links" in said


def test_advice_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    one = ["--connections", "one", "--switch", "none", "--bridge"]
    assert main(["aggregate", "plan", "--rates-mbit", "1000,1000", *one, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert advice["method"]["mode"] == "balance-rr"
    assert advice["tuning"]["bond_offloads"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--rates-mbit", "fast"],
        ["measure", "--links", "0"],
        ["run", "--hosts", "4", "true"],
        ["measure", "--restore-at", "1", "--cut-at", "2"],
        ["measure", "--cut-each", "--cut-at", "1"],
        ["measure", "--cut-each", "--cut-at", "1", "--restore-at", "2", "--seconds", "7"],
        ["measure", "--program", "mpi", "--method", "multipath"],
        ["confirm", "none"],
        ["undo", "none"],
        ["apply", "--method", "802.3ad", "--interfaces", "lo"],
        ["apply", "--method", "802.3ad", "--interfaces", "a,b", "--name", "a name"],
        ["apply", "--method", "mptcp", "--interfaces", "a,b", "--bridge", "br0"],
    ],
)
def test_impossible_options_are_refused_with_a_remedy(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    if os.geteuid() != 0 and arguments[0] == "apply":
        pytest.skip("ip(8) tells an ordinary user less")
    assert main(["aggregate", *arguments]) == 2
    assert "remedy: " in capsys.readouterr().err
