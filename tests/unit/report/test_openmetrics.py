"""OpenMetrics as its reference parser reads it, and the Grafana board that shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from aferir.report.write.openmetrics import openmetrics
from aferir.statistics.summary import summarise
from tests.checkout import ROOT
from tests.unit.report.one_run import EVIL, HERTZ, WATTS, one_run

parser = pytest.importorskip(
    "prometheus_client.openmetrics.parser",
    reason="prometheus_client is not installed: pip install prometheus-client",
)
BOARD = ROOT / "share/grafana/aferir-runs.json"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return openmetrics(*one_run(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in parser.text_string_to_metric_families(text):
        for one in family.samples:
            found.setdefault(one.name, []).append((one.labels, one.value))
    return found


def test_the_conditions_are_labels_of_the_start(
    samples: dict[str, list[tuple[dict[str, str], float]]],
) -> None:
    ((labels, value),) = samples["aferir_run_started_timestamp_seconds"]
    assert labels["commit"] == "c" * 40
    assert (labels["run"], labels["kernel"]) == ("run-1", "6.1.0-13")
    assert value == 1_767_225_600


def test_durations_are_summaries_of_the_successful_repetitions(
    samples: dict[str, list[tuple[dict[str, str], float]]],
) -> None:
    counts = {labels["environment"]: v for labels, v in samples["aferir_duration_seconds_count"]}
    assert counts == {"native": 8, "kind-1": 7}
    medians = {
        (labels["group"], labels["environment"]): value
        for labels, value in samples["aferir_duration_seconds"]
        if labels["quantile"] == "0.5"
    }
    assert medians == {
        (EVIL, "native"): pytest.approx(1.0035),
        (EVIL, "kind-1"): pytest.approx(1.203),
    }


def test_power_and_clocks_are_figures_in_base_units(
    samples: dict[str, list[tuple[dict[str, str], float]]],
) -> None:
    values = {
        labels["figure"]: value
        for labels, value in samples["aferir_figure"]
        if labels["quantile"] == "0.5" and labels["environment"] == "native"
    }
    assert (values["power_w"], values["frequency_hz"]) == (WATTS, HERTZ)
    assert (values["booted_s"], values["total_s"]) == (0.5, 0.75)


def test_figures_below_zero_are_read_too(tmp_path: Path) -> None:
    run, evaluation = one_run(tmp_path)
    cell = evaluation.cells[0]
    below = msgspec.structs.replace(cell.observed[0], summary=summarise([-3.0, -2.0, 1.0]))
    cell = msgspec.structs.replace(cell, observed=(below,))
    text = openmetrics(run, msgspec.structs.replace(evaluation, cells=(cell,)))
    values = {
        one.labels.get("quantile", ""): one.value
        for family in parser.text_string_to_metric_families(text)
        for one in family.samples
        if one.labels.get("figure") == below.metric
    }
    assert values[""] == 3, "their number"
    assert values["0.5"] == -2.0


def test_ratios_have_their_interval_and_failures_are_counted(
    samples: dict[str, list[tuple[dict[str, str], float]]],
) -> None:
    bounds = {labels["bound"]: value for labels, value in samples["aferir_duration_ratio"]}
    assert bounds["low"] <= bounds["estimate"] <= bounds["high"]
    failed = {labels["environment"]: v for labels, v in samples["aferir_failed_repetitions"]}
    assert failed == {"native": 0, "kind-1": 1}


def test_the_board_asks_for_what_is_written(text: str) -> None:
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    names = {name for expr in asked for name in re.findall(r"aferir_\w+", expr)}
    assert names
    assert names <= set(re.findall(r"^(aferir_\w+)", text, re.MULTILINE))
    labels = {name for expr in asked for name in re.findall(r"(\w+)=~?\"", expr)}
    assert labels <= set(re.findall(r"(\w+)=\"", text))


def test_nothing_is_written_twice(text: str) -> None:
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
