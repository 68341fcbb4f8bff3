"""Berkeley DB under YCSB: every read is compared, every record counted, downloads checked."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from aferir.errors import ProgramError
from aferir.model.plan import Parameter
from aferir.programs.base import VOLUME
from aferir.programs.stores import jars
from aferir.programs.stores.inside.outcome import FailedError, WrongError
from aferir.programs.stores.inside.ycsb import check_report, read_report
from aferir.programs.stores.key_value import HBASE, KEY_VALUE
from tests.java import QUICK
from tests.unit.programs.stores.support import assert_timed, run, usable

SMALL: dict[str, Parameter] = {"records": 200, "requests": 400, "clients": 2}
REPORT = """[OVERALL], RunTime(ms), 15558
[OVERALL], Throughput(ops/sec), 257.1024553284484
[READ], Operations, 1978
[READ], Return=OK, 1978
[VERIFY], Operations, 1978
[VERIFY], Return=OK, 1977
[VERIFY], Return=UNEXPECTED_STATE, 1
"""


def test_a_report_of_ycsb_is_read() -> None:
    report = read_report(REPORT)
    assert report["OVERALL", "RunTime(ms)"] == 15558
    check_report(report, {"READ": 1978})
    with pytest.raises(FailedError):
        read_report("Error: no such class\n")


def test_a_value_that_is_not_what_was_written_is_wrong() -> None:
    with pytest.raises(WrongError, match="1977 of 1978 requests of the kind VERIFY"):
        check_report(read_report(REPORT), {"VERIFY": 1978})
    with pytest.raises(WrongError):
        check_report(read_report(REPORT), {"UPDATE": 1})


def test_only_files_of_the_pinned_sums_are_taken(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(b"a")
    sums = f"{hashlib.sha256(b'a').hexdigest()}  a.jar\n"
    jars.verify(tmp_path, sums)
    (tmp_path / "b.jar").write_bytes(b"b")
    with pytest.raises(ProgramError, match=r"b\.jar"):
        jars.verify(tmp_path, sums)
    (tmp_path / "b.jar").unlink()
    (tmp_path / "a.jar").write_bytes(b"A")
    with pytest.raises(ProgramError, match=r"a\.jar"):
        jars.verify(tmp_path, sums)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"{QUICK} -XX:+UseSerialGC")


def test_a_key_value_store_gives_back_what_was_put(tmp_path: Path) -> None:
    usable(KEY_VALUE)
    done = run(KEY_VALUE, SMALL, tmp_path)
    metrics = {sample.metric: sample.value for sample in KEY_VALUE.parse(done.stdout)}
    assert metrics["requests"] == 400
    assert metrics[VOLUME] > 200 * 10_000  # half of them write records of 10 kB, in a log
    assert_timed(metrics, done)


def test_hbase_gives_back_what_was_put(tmp_path: Path) -> None:
    usable(HBASE)
    done = run(HBASE, SMALL, tmp_path)
    metrics = {sample.metric: sample.value for sample in HBASE.parse(done.stdout)}
    assert metrics["requests"] == 400
    assert metrics[VOLUME] > 0
    assert_timed(metrics, done)
