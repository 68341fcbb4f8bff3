"""`aferir colocate simulate`: one row for each policy, and errors of use."""

from __future__ import annotations

import json

import pytest

from aferir.cli import main

QUICK = ["colocate", "simulate", "--duration", "6", "--policies", "idle,edfcoaloc"]


def test_every_policy_is_a_row_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in told["rows"]] == ["idle", "edfcoaloc"]
    idle = told["rows"][0]
    assert idle["low_s"] <= idle["latency_s"] <= idle["high_s"] <= 0.2
    assert (idle["meets"], idle["settled_s"]) == (True, None)


def test_the_table_shows_requests_that_were_never_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*QUICK, "--load", "0:0.25,3:2"]) == 0
    table = capsys.readouterr().out
    assert "unanswered" in table
    assert "unanswered to" not in table
    assert "settled" in table, "the load has a step"


def test_a_quantile_of_too_few_answers_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--need", "500", "--load", "0.3"]) == 0
    table = capsys.readouterr().out
    assert "too few answers" in table
    assert "settled" not in table, "there is no step after which it could settle"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--policies", "magic"],
        ["--load", "much"],
        ["--load", "1:0.5"],
        ["--sla", "95=200ms"],
        ["--sla", "p95=200"],
        ["--sla", "p100=1s"],
        ["--cpus", "0"],
        ["--duration", "nan"],
        ["--interference", "-1"],
        ["--seed", "-1"],
    ],
)
def test_a_wrong_command_line_is_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, *wrong]) == 2
    assert "remedy" in capsys.readouterr().err
