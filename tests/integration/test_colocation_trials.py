"""One arm of a trial on a real NGINX, and the count of batch work."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from aferir.cli import main
from aferir.colocation import admission
from aferir.colocation.privileges import findings
from aferir.colocation.program import COLOCATION
from aferir.colocation.settings import Sla
from aferir.colocation.trials import programs, search
from aferir.colocation.trials.arm import Arm, Batch, Loaded, Setup, run
from aferir.colocation.trials.load import Times, ask
from aferir.colocation.trials.results import figures
from aferir.colocation.trials.search_engine import ENGINES
from aferir.colocation.trials.study import Cell, Tried, serving
from aferir.errors import MissingError, UsageError
from aferir.linux import journal, process
from aferir.machine import packages
from tests.integration.colocation_support import sound_account
from tests.integration.support import own_state
from tests.java import QUICK
from tests.unit.programs.taking import command_of
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(finding.status == "missing" for finding in findings())
        or bool(packages.missing(("nginx", "unshare", "xz"))),
        reason="a service under reservations takes root, NGINX, util-linux and xz",
    ),
]
_SLA = Sla(bound_s=5.0)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def test_an_arm_tells_latency_batch_work_and_leaves_nothing() -> None:
    before = sound_account()
    with serving("nginx", 2) as service:
        pid = service.pid
        arm = run("aferir", Setup(service, _SLA, 100.0, Batch("xz", 2), Times(0.5, 1.5)))
    assert arm.load.asked
    assert arm.load.failed < len(arm.load.asked)
    assert arm.system_s
    assert arm.leaked_cpus == 0
    assert not Path(f"/proc/{pid}").exists()
    # What a thread had is given back at its 0-lag time.
    eventually(lambda: before is None or admission.more_than(before) <= 0)
    _check_figures(arm)


def test_users_have_their_share_under_a_policy_that_reserves_all_that_is_left() -> None:
    with serving("nginx", 2) as service:
        arm = run("deadline", Setup(service, _SLA, 100.0, Batch("xz", 2), Times(0.5, 1.5)))
    assert arm.load.asked
    assert arm.leaked_cpus == 0


def test_two_services_with_an_sla_each_are_beside_one_batch_under_one_policy() -> None:
    if packages.missing(("memcached",)):
        pytest.skip("there is no memcached")
    with serving("nginx", 2) as web, serving("memcached", 2) as cache:
        pids = (web.pid, cache.pid)
        more = (Loaded(cache, Sla(bound_s=4.0), 20.0),)
        setup = Setup(web, _SLA, 20.0, Batch("xz", 1), Times(1.0, 2.0), more=more)
        arm = run("aferir", setup)
    assert [bool(one.asked) for one in arm.loads] == [True, True]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert list(journal.entries()) == []


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
def test_every_service_answers_what_it_is_asked_and_is_gone_afterwards(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They end too soon to win by being optimised, or by asking until they are.
    for engine in ENGINES.values():
        monkeypatch.setenv(f"{engine.prefix}_JAVA_OPTS", QUICK)
    monkeypatch.setattr(search, "_WARM_UPS", 1)
    try:
        command_of(COLOCATION, {"service": name})
    except MissingError as missing:
        pytest.skip(f"{missing.message}; {missing.remedy}")
    left = _left_in_tmp()
    with serving(name, 2, text_bytes=2 << 20) as service:
        pid = service.pid
        arm = run("default", Setup(service, _SLA, 20.0, Batch("xz", 1), Times(1.0, 2.0)))
        assert service.text_bytes >= 2 << 20
    assert arm.load.failed < len(arm.load.asked)
    assert not Path(f"/proc/{pid}").exists()
    assert _left_in_tmp() == left
    assert list(journal.entries()) == []


@pytest.mark.parametrize("name", ["memcached", "nginx"])
def test_a_service_ends_with_who_started_it_however_that_ends(name: str) -> None:
    if packages.missing((name,)):
        pytest.skip(f"there is no {name}")
    words = [sys.executable, "-c", _SERVING.format(name=name)]
    child = process.start(words, stdout=subprocess.PIPE)
    assert child.stdout is not None
    unshared = int(child.stdout.readline())
    (first,) = Path(f"/proc/{unshared}/task/{unshared}/children").read_text().split()
    try:
        child.kill()
        child.wait()
        eventually(lambda: not Path(f"/proc/{first}").exists())
    finally:
        process.end(child)
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(first), signal.SIGKILL)
        main(["clean"])  # its scratch folder


_SERVING = """
import time
from aferir.colocation.trials.study import serving
with serving("{name}", 2) as service:
    print(service.pid, flush=True)
    time.sleep(60)
"""


def test_users_ask_for_more_than_their_reservation_where_nobody_else_has_it() -> None:
    if packages.missing(("memcached",)):
        pytest.skip("there is no memcached")
    with serving("memcached", 2) as service:
        load = ask(service, 10_000.0, Times(0.2, 1.8), 1)
    assert load.asked
    assert load.cpus > 0


def _left_in_tmp() -> int | None:
    """Modification time of the folder that JVMs of the search engines' user would leave."""
    folder = Path("/tmp/hsperfdata_nobody")
    return folder.stat().st_mtime_ns if folder.exists() else None


def _check_figures(arm: Arm) -> None:
    cell = Cell(load=0.5, batch=Batch("xz", 2), sla=_SLA, arms=("aferir",))
    made = figures(cell, Tried(rate=200.0, arms=(arm,), alone_per_s=10.0, duration_s=9.0))
    assert {series.metric for series in made.series} >= {
        "latency_s",
        "latency_p95_s",
        "batch_share",
        "violations",
        "system_worst_s",
        "controller_cpus",
    }
    stepped = msgspec.structs.replace(cell, step_to=0.75, times=Times(0.5, 1.5))
    assert stepped.asked(200.0) == "0:100.000,1.25:150.000"
    made = figures(stepped, Tried(rate=200.0, arms=(arm,), alone_per_s=10.0, duration_s=9.0))
    assert {series.metric for series in made.series} >= {"latency_p95_s", "settled_s"}
    assert "SLA: 5000 ms" in {s.label for s in made.series if s.along == "time_s"}
    assert "frontier" in {series.kind for series in made.series}


@pytest.mark.parametrize("name", ["", *sorted(programs.PROGRAMS)])
def test_pieces_of_a_batch_program_are_counted(name: str, tmp_path: Path) -> None:
    try:
        command = programs.loop(name, tmp_path, 1, "" if name else "sort /dev/null | wc -l; true")
    except MissingError as missing:
        pytest.skip(missing.message)
    assert programs.finished(tmp_path) == 0
    child = process.start(command, stderr=subprocess.DEVNULL)
    eventually(lambda: programs.finished(tmp_path) or child.poll() is not None)
    process.end(child, grace_s=0.1)
    assert programs.finished(tmp_path) > 0


def test_what_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no batch program"):
        programs.loop("nothing", tmp_path, 1)
    with pytest.raises(UsageError, match="no service"), serving("nothing", 1):
        pass
    with pytest.raises(UsageError, match="no policy"):
        Cell(load=0.5, batch=Batch("xz", 1), sla=_SLA, arms=("nothing",))
