"""Reports of a run: the status sentence, the OpenMetrics file, and counts of restores."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from aferir.colocation.privileges import findings
from aferir.linux import journal, process
from tests.integration.colocation_support import sleeping
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings()),
        reason="scheduling other people's threads and making control groups takes root",
    ),
]
_AFERIR = (sys.executable, "-m", "aferir", "colocate")


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def status(*options: str) -> str:
    return process.run([*_AFERIR, "status", *options]).stdout


def value(text: str, name: str) -> float:
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name}{{"))
    return float(line.rpartition(" ")[2])


def test_a_run_tells_what_it_does_until_it_ends(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "aferir.prom"
    log.touch()
    assert status() == "No co-location runs.\n"
    with sleeping() as served:
        words = ["--service", f"pid:{served.pid}", "--sla", "p95=200ms", "--policy", "cpu-idle"]
        words += ["--latency", f"json:{log}#t", "--metrics", str(file)]
        run = process.start([*_AFERIR, *words, "--", "sleep", "1000"])
        try:
            assert eventually(lambda: file.exists() or run.poll() is not None)
            text = file.read_text(encoding="utf-8")
            assert text.endswith("# EOF\n")
            assert value(text, "aferir_colocate_decisions_total") >= 1
            assert "batch runs in an idle group; p95 is unknown" in status()
            (one,) = json.loads(status("--json"))["running"]
            assert (one["service"], one["pid"]) == (f"pid:{served.pid}", run.pid)
            assert one["mode"] == "idle"
        finally:
            run.kill()
            run.wait()
        assert eventually(lambda: list(journal.entries()) == [])
    assert status() == "No co-location runs.\n"
    assert json.loads(status("--json"))["restores"] == {"complete": 1, "failed": 0}
    assert list((journal.state_folder() / "colocation").glob("*.status")) == []


def scraped(address: str, host: str = "") -> tuple[int, str]:
    with closing(http.client.HTTPConnection(address)) as line:
        line.request("GET", "/metrics", headers={"Host": host or address})
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def test_the_guard_serves_the_metrics_on_the_loopback_interface(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    with sleeping() as served:
        words = ["--service", f"pid:{served.pid}", "--sla", "p95=200ms", "--policy", "cpu-idle"]
        words += ["--latency", f"json:{log}#t", "--metrics-port", "0"]
        command = [*_AFERIR, *words, "--", "sleep", "1000"]
        run = process.start(command, stderr=subprocess.PIPE)
        try:
            assert run.stderr is not None
            address = run.stderr.readline().partition("http://")[2].partition("/")[0]
            assert address.startswith("127.0.0.1:")
            assert eventually(lambda: run.poll() is not None or scraped(address)[0] == 200)
            status, text = scraped(address)
            assert status == 200
            assert value(text, "aferir_colocate_decisions_total") >= 1
            assert text.endswith("# EOF\n")
            assert scraped(address, host="evil.example:80")[0] == 421
        finally:
            run.kill()
            run.communicate()
        assert eventually(lambda: list(journal.entries()) == [])
    assert list((journal.state_folder() / "colocation").glob("*.metrics")) == []
