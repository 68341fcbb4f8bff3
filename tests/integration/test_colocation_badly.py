"""A run whose service rotates and truncates its log, and finally stops answering."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aferir.colocation import attributes, remembered, service
from aferir.colocation.privileges import findings
from aferir.linux import journal, process
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
_WORKS = "import time\nwhile True:\n    sum(range(100000))\n    time.sleep(0.001)\n"
"""A service that uses a good part of a CPU whether or not it answers."""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def served() -> Iterator[subprocess.Popen[str]]:
    child = process.start([sys.executable, "-c", _WORKS])
    yield child
    process.end(child, grace_s=0.1)


def _start(pid: int, folder: Path) -> subprocess.Popen[str]:
    words = ["--service", f"pid:{pid}", "--sla", "p95=400ms", "--threads", "."]
    words += ["--latency", f"json:{folder / 'log'}#t@ms", "--log", str(folder / "decisions")]
    return process.start(
        [sys.executable, "-m", "aferir", "colocate", *words, "--", "sleep", "1000"],
        stderr=subprocess.PIPE,
    )


def _answer_until(
    run: subprocess.Popen[str], log: Path, took_ms: int, seen: Callable[[], bool]
) -> None:
    """Write responses of that duration, into the file that currently has the log's name."""
    while not seen():
        assert run.poll() is None
        with log.open("a") as stream:
            stream.write(f'{{"t": {took_ms}}}\n' * 10)
        time.sleep(0.05)


def _last(folder: Path) -> dict[str, Any]:
    path = folder / "decisions"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    return json.loads(whole[-1]) if whole else {}


def _suspended(folder: Path) -> bool:
    """Whether the last decision suspended the batch; False before any decision."""
    now = _last(folder).get("now")
    return bool(now and now["batch"]["suspended"])


def _quantile_ms(folder: Path) -> float:
    latency = _last(folder).get("state", {}).get("latency")
    return 1e3 * latency["quantile_s"] if latency else 0.0


@pytest.mark.skipif(
    any(finding.status == "missing" for finding in findings()),
    reason="scheduling other people's threads and making control groups takes root",
)
def test_a_log_that_rotates_or_is_cut_is_followed_and_silence_stops_the_batch(
    served: subprocess.Popen[str], tmp_path: Path
) -> None:
    before = {tid: attributes.find(served.pid, tid) for tid in service.threads((served.pid,))}
    log = tmp_path / "log"
    log.touch()
    child = _start(served.pid, tmp_path)
    try:
        _answer_until(child, log, 5, lambda: 4.5 < _quantile_ms(tmp_path) < 5.5)
        log.rename(tmp_path / "log.1")
        log.touch()
        _answer_until(child, log, 50, lambda: 45 < _quantile_ms(tmp_path) < 55)
        os.truncate(log, 0)
        _answer_until(
            child,
            log,
            120,
            lambda: 110 < _quantile_ms(tmp_path) < 130 and not _suspended(tmp_path),
        )
        eventually(lambda: _suspended(tmp_path) or child.poll() is not None)
        assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        child.communicate()
    finally:
        process.end(child)
    assert child.returncode == 130
    after = {tid: attributes.find(served.pid, tid) for tid in service.threads((served.pid,))}
    assert after == before
    assert list(journal.entries()) == []
    assert served.poll() is None


_STEPPING = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow")}


def test_no_decision_is_taken_by_a_clock_that_can_step() -> None:
    """CLOCK_REALTIME steps with NTP or by hand; stepping it here would hit everybody else."""
    found = []
    for path in Path(remembered.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                read = (node.value.id, node.attr)
                found += [f"{path.name}: {read}"] if read in _STEPPING else []
            if isinstance(node, ast.Attribute) and node.attr == "CLOCK_REALTIME":
                found.append(path.name)
    assert found == []
