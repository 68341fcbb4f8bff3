"""OpenMetrics of a decision, the Grafana board that shows them, and the status sentence."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import msgspec
import pytest

from aferir.colocation import metrics, remembered, restores, status
from aferir.colocation.job import Tick
from aferir.colocation.metrics import METRICS, Totals
from aferir.colocation.reporting import Reporter
from aferir.colocation.restores import Restores
from aferir.colocation.settings import Batch, Explanation, Schedule, Settings
from aferir.linux import journal
from aferir.linux.journal import Entry
from tests.checkout import ROOT
from tests.unit.colocation.states import latency, state

_BOARD = ROOT / "share/grafana/colocation.json"
_SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)$')
_NOW = Settings(
    batch=Batch(idle=True, quota_cpus=0.5),
    threads={1: Schedule(policy="deadline", runtime_s=0.009, period_s=0.01)},
    explanation=Explanation(mode="reserve", why="p95 neared the SLA", since_s=88.0),
)


def written(now: Settings = _NOW, **given: object) -> str:
    tick = Tick(state(**given), now)
    return metrics.text("unit:web", tick, Totals(decisions=7, violations=2), Restores(complete=3))


def samples(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = _SAMPLE.match(line)
            assert match, line
            found[match[1]] = float(match[3])
    return found


def test_every_sample_belongs_to_a_family_that_was_declared() -> None:
    text = written()
    assert text.endswith("# EOF\n")
    declared = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    for name in samples(text):
        counter = name.removesuffix("_total")
        assert declared.get(counter if name.endswith("_total") else name)
    assert all(kind == "counter" for name, kind in declared.items() if f"{name}_total" in text)


def test_units_are_the_last_part_of_the_name() -> None:
    units = re.findall(r"^# UNIT (\w+) (\w+)$", written(), re.MULTILINE)
    assert {"seconds"} <= {unit for _, unit in units}
    assert all(name.endswith(f"_{unit}") for name, unit in units)


def test_what_is_known_is_there_and_what_is_not_is_absent() -> None:
    found = samples(written())
    assert found["aferir_colocate_decisions_total"] == 7
    assert found["aferir_colocate_restores_total"] == 3
    assert found["aferir_colocate_batch_quota_cpus"] == 0.5
    assert found["aferir_colocate_batch_weight"] == 0
    assert found["aferir_colocate_mode_age_seconds"] == 12
    found = samples(written(Settings(), latency=None))
    assert "aferir_colocate_latency_seconds" not in found
    assert "aferir_colocate_batch_quota_cpus" not in found


def test_infinity_and_quotation_marks_are_written_as_the_format_says() -> None:
    endless = msgspec.structs.replace(latency(0.1), high_s=math.inf)
    told = Settings(explanation=Explanation(mode="a", why='the "tail"\n\\'))
    text = written(told, latency=endless)
    assert "+Inf" in text
    assert r'why="the \"tail\"\n\\"' in text
    samples(text)


def test_the_board_shows_metrics_that_there_are() -> None:
    board = json.loads(_BOARD.read_text(encoding="utf-8"))
    shown = set(re.findall(r"aferir_colocate_\w+", json.dumps(board)))
    assert shown == {metric.sample for metric in METRICS}
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(numbers) == len(set(numbers))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.prom"
    for text in ("one\n", "two\n"):
        metrics.replace(file, text)
        assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(OSError, match="No such file"):
        metrics.replace(tmp_path / "none" / "a.prom", "one\n")


def test_restores_are_counted_over_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    assert restores.read() == Restores()
    restores.count(complete=True)
    restores.count(complete=False)
    restores.count(complete=True)
    assert restores.read() == Restores(complete=2, failed=1)


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """The journal entry of a run, with a folder for its status."""
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    made = journal.write(remembered.KIND, {})
    status.path(made.id).parent.mkdir(parents=True)
    return made


def test_the_status_of_few_answers_is_read_again(entry: Entry) -> None:
    endless = msgspec.structs.replace(latency(0.1, n=3), high_s=math.inf)
    seen = state(latency=endless, levers=frozenset({"disk"}))
    assert Reporter(entry, "unit:web").report(Tick(seen, _NOW), Totals()) == ""
    (found,) = status.running(100.0)
    assert (found.state, found.now) == (seen, _NOW)


def test_a_file_that_cannot_be_written_is_a_problem_and_no_end(
    entry: Entry, tmp_path: Path
) -> None:
    for file in (Path("/"), tmp_path / "none" / "a.prom"):
        told = Reporter(entry, "unit:web", [file]).report(Tick(state(), _NOW), Totals())
        assert "cannot be written" in told


def told(now: Settings) -> str:
    found = status.Status(
        id="1",
        pid=1,
        service="unit:web",
        state=state(),
        now=now,
        totals=Totals(),
        mode=metrics.mode(now),
    )
    return status.sentence(found, 100.0)


def test_the_status_is_a_sentence() -> None:
    assert told(_NOW) == (
        "unit:web: batch runs in an idle group, at most 0.5 CPUs; workers have reservations of 0.9;"
        " p95 is 50 ms of 200 ms; last change 12 s ago because p95 neared the SLA"
    )


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Settings(batch=Batch(suspended=True)), "batch is suspended"),
        (Settings(batch=Batch(policy="idle")), "batch runs under SCHED_IDLE"),
        (Settings(batch=Batch(weight=10, cpus=(0, 1))), "weight 10, on CPUs 0, 1"),
        (Settings(service=Schedule(policy="fifo", priority=1)), "service runs under SCHED_FIFO"),
        (Settings(service=Schedule(nice=-5)), "service runs at nice -5"),
    ],
)
def test_it_says_what_is_set(now: Settings, words: str) -> None:
    assert words in told(now)
