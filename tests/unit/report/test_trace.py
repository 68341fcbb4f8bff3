"""The trace of a run: spans at the recorded times, phases end to end."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from aferir.model.record import Series
from aferir.model.stamps import Stamp
from aferir.report.write.trace import events, write_trace
from tests.unit.report.one_run import EVIL, one_run


def test_repetitions_are_spans_and_failures_are_moments(tmp_path: Path) -> None:
    run, _ = one_run(tmp_path)
    write_trace(tmp_path / "trace.json", run)
    document = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = document["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {1: "native", 2: "kind-1"}
    spans = [e for e in events if e["ph"] == "X" and e["cat"] == "repetition"]
    moments = [e for e in events if e["ph"] == "i"]
    assert len(spans) + len(moments) == 16
    assert [e["args"]["failure"] for e in moments] == ["time-limit"]
    first = spans[0]
    # The first allocation, one second earlier, is time 0.
    assert (first["name"], first["ts"], first["dur"]) == (EVIL, 1e6, 1e6)


def test_phases_of_an_allocation_lie_end_to_end_within_it(tmp_path: Path) -> None:
    run, _ = one_run(tmp_path)
    write_trace(tmp_path / "trace.json", run)
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    whole, placed, booted = [e for e in events if e.get("cat") == "allocation"][:3]
    assert [e["name"] for e in (whole, placed, booted)] == ["allocation", "placed", "booted"]
    assert placed["ts"] == whole["ts"] == 0
    assert booted["ts"] == placed["ts"] + placed["dur"]
    assert booted["ts"] + booted["dur"] == whole["ts"] + whole["dur"]


def test_curves_over_time_are_counters_at_their_own_times(tmp_path: Path) -> None:
    run, _ = one_run(tmp_path)
    first = run.records[0]
    start_ns = first.started_unix_ns
    curve = Series(
        metric="power_w",
        unit="W",
        values=(40.0, 60.0),
        along="time_s",
        at=(0.5, 1.0),
        began=Stamp(start_ns),
    )
    record = msgspec.structs.replace(first, series=(curve,))
    found = [event for event in events(run.plan, (record,)) if event["ph"] == "C"]
    assert [(one["name"], one["ts"], one["args"]) for one in found] == [
        ("power_w", 0.5e6, {"W": 40.0}),
        ("power_w", 1e6, {"W": 60.0}),
    ]
