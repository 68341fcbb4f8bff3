"""The CPU profile, from the real perf."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.elastic import profile
from aferir.elastic.profile import parse, profiled
from aferir.errors import AferirError, ProgramError

BUSY = "import time\nwhile time.process_time() < 1: pass"


def test_a_busy_program_is_seen_with_its_symbols(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        profile.require()
    except AferirError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    monkeypatch.setattr(profile, "_MOST_ROWS", 10**6)  # others may be busier than the one we start
    with profiled(tmp_path) as seen:
        subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert seen.doubts == ()
    programs, symbols = seen.series
    assert any(str(name).startswith("python") for name in programs.at)
    assert any(str(name).startswith("python") for name in symbols.at)
    assert sum(programs.values) <= 100 + 0.01 * len(symbols.at)  # perf rounds to hundredths
    assert list(symbols.values) == sorted(symbols.values, reverse=True)


def test_where_perf_may_not_look_the_profile_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ProgramError("`perf` exited with 255")

    monkeypatch.setattr("aferir.linux.process.run", refused)
    monkeypatch.setattr("aferir.machine.packages.missing", lambda _: [])
    with profiled(tmp_path) as seen:
        pass
    (doubt,) = seen.doubts
    assert doubt.code == "no-profile"
    assert "perf_event_paranoid" in doubt.advice
    assert seen.series == ()


def test_without_perf_the_profile_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aferir.machine.packages.missing", list)
    with profiled(tmp_path) as seen:
        pass
    assert "linux-perf" in seen.doubts[0].advice


def test_shares_of_one_symbol_are_added() -> None:
    text = "# x\n 1.50%  ;nginx;[k] copy\n\n 2.00%  ;nginx;[k] copy\n 3.00%;a b;[.] f;g\nnan%;a\n"
    assert parse(text) == {("nginx", "[k] copy"): 3.5, ("a b", "[.] f;g"): 3.0}


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    parse(text)
