"""Transactions on MariaDB are verified, and end with a clear outcome whatever fails."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aferir.errors import ProgramError, UnverifiedError
from aferir.model.plan import Parameter
from aferir.programs.base import VOLUME
from aferir.programs.stores.inside.oltp_sysbench import read_report
from aferir.programs.stores.inside.outcome import FailedError
from aferir.programs.stores.oltp import OLTP, OLTP_SYSBENCH
from tests.unit.programs.stores.support import assert_timed, needs_root, run, usable
from tests.unit.programs.taking import command_of

SMALL: dict[str, Parameter] = {"customers": 20, "terminals": 3, "transactions": 600}
MIX = (
    *("trade_order", "trade_result", "trade_lookup", "trade_update", "trade_status"),
    *("customer_position", "broker_volume", "security_detail", "market_feed", "market_watch"),
)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_a_brokerage_keeps_its_books(tmp_path: Path) -> None:
    usable(OLTP)
    done = run(OLTP, SMALL, tmp_path)
    metrics = {sample.metric: sample.value for sample in OLTP.parse(done.stdout)}
    assert metrics["requests"] == 600
    assert sum(metrics[name] for name in MIX) == 600
    assert metrics["trade_status"] == pytest.approx(0.19 * 600, abs=45)
    assert metrics[VOLUME] > 100_000
    assert_timed(metrics, done)


def test_what_settles_is_in_the_books_and_not_in_the_figures(tmp_path: Path) -> None:
    usable(OLTP)
    done = run(OLTP, {**SMALL, "transactions": 200, "settle": 100}, tmp_path)
    metrics = {sample.metric: sample.value for sample in OLTP.parse(done.stdout)}
    assert metrics["requests"] == sum(metrics[name] for name in MIX) == 200


def test_money_that_nobody_moved_is_found(tmp_path: Path) -> None:
    usable(OLTP)
    client = command_of(OLTP, SMALL).files[0]
    false = tmp_path / "oltp-clients"
    theft = "UPDATE brokerage.account SET a_balance = a_balance - 1 WHERE a_id = 7"
    false.write_text(
        f'#!/bin/sh\ncase "$*" in *--terminals*) {client} --socket data/socket --ask "{theft}";;'
        f'esac\nexec {client} "$@"\n',
        encoding="utf-8",
    )
    false.chmod(0o755)
    folder = tmp_path / "scratch"
    folder.mkdir()
    done = run(OLTP, SMALL, folder, f'set -- "$1" "$2" {false} $(shift 3; echo "$@");')
    assert done.exit_code == 1
    with pytest.raises(UnverifiedError, match="expected 0, found 1"):
        OLTP.parse(done.stdout)


def test_a_server_that_is_killed_ends_the_run_and_is_named(tmp_path: Path) -> None:
    usable(OLTP)
    over = threading.Event()
    killer = threading.Thread(target=_kill_server, args=(tmp_path, over.is_set))
    killer.start()
    try:
        done = run(OLTP, {**SMALL, "transactions": 1_000_000}, tmp_path)
    finally:
        over.set()
        killer.join()
    assert done.exit_code == 1
    assert "mariadbd was ended by SIGKILL" in done.stderr
    with pytest.raises(ProgramError):
        OLTP.parse(done.stdout)


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    usable(OLTP)
    needs_root()
    parameters = {**SMALL, "customers": 4000}
    done = run(OLTP, parameters, tmp_path, f"mount -t tmpfs -o size=70m none {tmp_path};")
    assert done.exit_code == 1
    assert "the disk is full" in done.stderr


def test_sysbench_does_its_transactions(tmp_path: Path) -> None:
    usable(OLTP_SYSBENCH)
    parameters: dict[str, Parameter] = {"rows": 500, "terminals": 2, "transactions": 50}
    done = run(OLTP_SYSBENCH, parameters, tmp_path)
    metrics = {sample.metric: sample.value for sample in OLTP_SYSBENCH.parse(done.stdout)}
    assert metrics["requests"] == 50
    assert_timed(metrics, done)


def test_a_report_of_sysbench_is_read() -> None:
    report = "transactions:   50  (12.3 per sec.)\n    total time:      4.0512s\n"
    assert read_report(report) == (4.0512, 50)
    with pytest.raises(FailedError):
        read_report("FATAL: error 2002")


def _kill_server(folder: Path, over: Callable[[], bool]) -> None:
    """Kill the server of the run in `folder` while its terminals work."""
    while not over():
        for log in folder.glob("*/oltp-clients.log"):
            pid = (log.parent / "data" / "pid").read_text(encoding="ascii")
            if _works(log.parent):
                os.kill(int(pid), signal.SIGKILL)
                return
        time.sleep(0.05)


def _works(folder: Path) -> bool:
    """Whether a terminal is connected, which it is only while a client without --load runs."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().split(b"\0")
            here = (line.parent / "cwd").readlink() == folder
        except OSError:
            continue
        if here and b"--terminals" in words and b"oltp" not in words:
            return True
    return False
