"""`aferir colocate`: errors of use, and a short run after which everything is restored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.colocation import attributes
from aferir.colocation.privileges import findings, has_capability
from aferir.colocation.settings import Sla
from aferir.config import colocation
from aferir.errors import UsageError
from aferir.linux import journal, process
from tests.integration.support import own_state
from tests.waiting import eventually

_MAY = not any(finding.status == "missing" for finding in findings())
_RIGHT = {
    "--service": f"pid:{os.getpid()}",
    "--sla": "p95=200ms",
    "--latency": "json:/no/such/log#t",
}


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def served() -> Iterator[subprocess.Popen[str]]:
    child = process.start(["sleep", "1000"])
    yield child
    process.end(child)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"--service": "nginx"}, "not a service"),
        ({"--service": "pid:4194305"}, "no such process"),
        ({"--sla": "fast"}, "not a quantile"),
        ({"--sla": "p95=200"}, "followed by a unit"),
        ({"--sla": "p00=2s"}, "not a quantile"),
        ({"--latency": "nothing"}, "not where latencies are"),
        ({"--latency": "json:/log"}, "not where latencies are"),
        ({"--threads": "(("}, "no regular expression"),
        ({"--period": "1ms"}, "0.02 to 10 s"),
        ({"--policy": "none"}, "no policy"),
        ({"--job": "/no/such/job"}, "cannot be read"),
        ({"--metrics-port": "65536"}, "from 0 to 65535"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_and_nothing_is_started(
    changed: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for pair in {**_RIGHT, **changed}.items() for word in pair]
    assert main(["colocate", *given, "--", "true"]) in (2, 3)
    assert said in capsys.readouterr().err
    assert list(journal.entries()) == []


def test_a_batch_program_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["colocate", *[word for pair in _RIGHT.items() for word in pair]]) == 2
    assert "no batch program" in capsys.readouterr().err


def test_what_is_missing_is_said_without_a_batch_program(
    served: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = {**_RIGHT, "--service": f"pid:{served.pid}"}
    words = [word for pair in given.items() for word in pair]
    assert main(["colocate", "--check", *words]) in (0, 3)
    told = capsys.readouterr().out
    assert "the service runs: 1 processes" in told
    assert told.count("\nmissing") == told.count("\n  remedy: "), "each says what to do"


def test_a_file_says_the_same_as_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(
        'service = "unit:nginx"\nsla = "p99.5=1 s"\nlatency = "nginx:/log"\n'
        'batch = "xz -9 \'a file\'"\njava = ["search"]\nperiod = "50ms"\nrepeat = true\n'
    )
    job = colocation.job(colocation.read(path))
    (served,) = job.services
    assert served.service.value == "nginx"
    assert (served.sla, job.period_s, job.repeat) == (Sla(0.995, 1.0), 0.05, True)
    assert job.command == ("xz", "-9", "a file")
    assert served.selector.java == ("search",)
    path.write_text("slo = 1\n")
    with pytest.raises(UsageError, match="slo"):
        colocation.read(path)


def test_a_privilege_is_read_from_the_kernels_mask() -> None:
    assert has_capability(23, "Name:\tx\nCapEff:\t0000000000800000\n")
    assert not has_capability(23, "CapEff:\t00000000007fffff\n")


def test_several_services_have_a_level_and_a_source_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--service", "pid:1", "--service", "pid:2", "--sla", "p95=200ms"]
    assert main(["colocate", *words, "--latency", "json:/log#t", "--", "true"]) == 2
    assert "2 --service, 1 --sla, 1 --latency" in capsys.readouterr().err


def test_a_file_lists_several_services(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    web = 'service = "unit:nginx"\nsla = "p95=100ms"\nlatency = "nginx:/log"\n'
    store = 'service = "unit:redis"\nsla = "p99=5ms"\nlatency = "redis://127.0.0.1:6379/k"\n'
    path.write_text(f'batch = "xz file"\n[[services]]\n{web}[[services]]\n{store}')
    job = colocation.job(colocation.read(path))
    assert job.name == "unit:nginx, unit:redis"
    assert [served.sla.bound_s for served in job.services] == [0.1, 0.005]
    path.write_text(f"{web}[[services]]\n{store}")
    with pytest.raises(UsageError, match="named twice"):
        colocation.job(colocation.read(path))


@pytest.mark.skipif(not _MAY, reason="scheduling other people's threads takes root")
def test_one_policy_serves_two_services_and_gives_both_back(
    served: subprocess.Popen[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").touch()
    other = process.start(["sleep", "1000"])
    pids = [served.pid, other.pid]
    before = [attributes.find(pid, pid) for pid in pids]
    words = ["--policy", "service-nice", "--log", str(tmp_path / "decisions"), "--json"]
    for pid in pids:
        words += ["--service", f"pid:{pid}", "--sla", "p95=200ms"]
        words += ["--latency", f"json:{tmp_path / 'log'}#t"]
    try:
        nices = ["ps", "-o", "ni=", "-p", ",".join(map(str, pids))]
        assert main(["colocate", *words, "--", *nices]) == 0
        printed = capfd.readouterr()
        assert printed.err.split().count("-20") == 2
        kept = json.loads(printed.out)["services"]
        assert [one["service"] for one in kept] == [f"pid:{pid}" for pid in pids]
        tick = json.loads((tmp_path / "decisions").read_text().splitlines()[0])
        assert [one["name"] for one in tick["state"]["services"]] == [f"pid:{pid}" for pid in pids]
        assert [attributes.find(pid, pid) for pid in pids] == before
    finally:
        process.end(other)


@pytest.mark.skipif(not _MAY, reason="scheduling other people's threads takes root")
def test_a_run_ends_with_its_batch_program_and_leaves_nothing(
    served: subprocess.Popen[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = attributes.find(served.pid, served.pid)
    (tmp_path / "log").touch()
    words = {
        "--service": f"pid:{served.pid}",
        "--latency": f"json:{tmp_path / 'log'}#t",
        "--threads": ".",
        "--policy": "service-nice",
        "--log": str(tmp_path / "decisions"),
    }
    given = [word for pair in {**_RIGHT, **words}.items() for word in pair]
    code = main(["colocate", *given, "--json", "--", "sh", "-c", "sleep 1; echo done; exit 7"])
    printed = capfd.readouterr()
    outcome = json.loads(printed.out)
    assert code == 7
    assert "done" in printed.err
    assert (outcome["reason"], outcome["batch_exit"], outcome["problems"]) == (
        "batch ended",
        7,
        [],
    )
    ticks = [json.loads(line) for line in (tmp_path / "decisions").read_text().splitlines()]
    assert len(ticks) == outcome["decisions"]
    assert any(tick["now"]["service"] for tick in ticks)
    assert attributes.find(served.pid, served.pid) == before
    assert list(journal.entries()) == []
    assert served.poll() is None


@pytest.mark.skipif(not _MAY, reason="scheduling other people's threads takes root")
def test_the_end_of_the_service_ends_the_run_and_the_batch(
    served: subprocess.Popen[str],
) -> None:
    words = {**_RIGHT, "--service": f"pid:{served.pid}"}
    given = [word for pair in words.items() for word in pair]
    command = [sys.executable, "-m", "aferir", "colocate", *given, "--", "sleep", "1000"]
    child = process.start(command, stderr=subprocess.PIPE)
    begun = journal.state_folder() / "colocation"
    eventually(lambda: begun.is_dir() or child.poll() is not None)
    assert child.poll() is None
    os.kill(served.pid, signal.SIGKILL)
    served.wait()
    _, errors = child.communicate()
    assert child.returncode == 4
    assert "service ended" in errors
    assert list(journal.entries()) == []
