"""The report of a check of a source, before a run depends on it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors import check
from aferir.colocation.sensors.log import LogSensor
from aferir.colocation.settings import Sla
from aferir.config import latency
from aferir.errors import UsageError

SLA = Sla(0.95, 0.2)


def test_a_check_says_what_it_read_and_what_it_did_not(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    sensor = latency.sensor(f"json:{log}#rt", SLA)

    def wait(_: float) -> None:
        with log.open("ab") as file:
            file.write(
                b'{"rt":0.1}\n{"rt":0.1}\n{"rt":0.1,"status":502}\n{"rt":9,"status":101}\n?\n'
            )

    lines, problem = check.seen(sensor, SLA, seconds=2.0, pause=wait)
    assert lines[0] == "answers in 2 s: 60 (30 a second)"
    assert lines[1] == "failed: 20 (33.3%)"
    assert lines[2] == "understood: 80.0% of 100 lines, 20 of no answer"
    assert lines[3] == "p95 of good answers: 100 ms, wanted p95=200ms"
    assert "more than a tenth" in problem
    assert lines[4] == f"problem: {problem}"


def test_of_a_quiet_log_its_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b'{"rt":0.1}\n' * 20_000)
    sensor = latency.sensor(f"json:{log}#rt", SLA)
    assert isinstance(sensor, LogSensor)
    lines, problem = check.seen(sensor, SLA, pause=lambda _: None)
    assert lines[0] == "answers in 2 s: 0"
    assert lines[1].startswith("answers in the log's last lines: 5")
    assert "while requests are sent" in lines[-1]
    assert problem == ""
    log.unlink()
    assert (
        "No such file" in check.seen(sensor, SLA, pause=lambda _: None)[1] + sensor.past().problem
    )


@given(
    st.sampled_from(
        [*(kind for one in latency.SCHEMES if one.has_lines for kind in one.kinds), ""]
    ),
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(["$", "$status", "$request_time", '"', " ", "%D", "%", "@ms", "("])
    ).map("".join),
)
def test_any_words_are_a_log_or_an_error(kind: str, what: str) -> None:
    with contextlib.suppress(UsageError):
        latency.sensor(f"{kind}:/no/such/file#{what}", SLA).close()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nginx:/l#$status", "neither"),
        ("nginx:/l#haprox", "neither"),
        ("haproxy:/l#x", "no format of a log"),
        ("apache:/l#%T", "whole seconds"),
        ("json:/l", "not where"),
        ("regex:/l#x", "no group"),
        ("prometheus:http://h/m", "not where"),
        ("prometheus:http://h/m#m{", "names no metric"),
        ("slow:/l", "not where"),
    ],
)
def test_what_is_no_source_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        latency.sensor(text, SLA)
