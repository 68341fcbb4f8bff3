"""The trace of a run: spans where the records say, phases end to end."""

from __future__ import annotations

import json
from pathlib import Path

from aferir.report.write.trace import write_trace
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
