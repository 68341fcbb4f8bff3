"""Parsers of the clock bench, for lines of its program and logs of its peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from aferir.clock.bench_program import (
    Bound,
    Counter,
    Ecp,
    EcpCase,
    Line,
    ReadCost,
    Sync,
    measure,
    of,
    parse,
)
from aferir.errors import ProgramError
from aferir.model.bench import Figure
from benchmarks.clock import judge
from benchmarks.clock.peers import parse_chronyd, parse_ptp4l

COUNTER = (
    '{"bench": "counter", "counter": "tsc (rdtscp)", "frequency_hz": 2.5e9, "uncertainty_ppb": 4,'
    ' "invariance": 2, "cores": 2, "cores_checked": 2, "jumps": 0, "rate_changes": 0}\n'
    '{"bench": "core_offset", "core": 1, "offset_ticks": -9, "uncertainty_ticks": 4, "applied": 1}'
)
COST = (
    '{{"bench": "read_cost", "clock": "{}", "rounds": 9, "reads_per_round": 1000,'
    ' "min_ns": {}, "median_ns": {}}}\n'
)
SYNC = (
    '{"bench": "one_shot_sync", "server": "10.0.0.1", "stamps": "kernel", "runs": 200,'
    ' "failures": 0, "median_error_ns": 8, "p90_error_ns": 20, "p99_error_ns": 31,'
    ' "max_error_ns": 40, "median_took_ns": 4e5, "p90_took_ns": 5e5, "min_took_ns": 3e5,'
    ' "median_bound_ns": 400, "median_exchanges": 30, "outside_bound": 0,'
    ' "stamped_by_kernel": 200}'
)

EVERY = get_args(EcpCase)


def costs(strict: float, rdtscp: float = 18.0, monotonic: float = 24.0) -> list[Line]:
    clocks = {
        "rvec_read": strict,
        "rdtscp": rdtscp,
        "clock_gettime(CLOCK_MONOTONIC)": monotonic,
    }
    return parse("".join(COST.format(name, ns, ns + 1) for name, ns in clocks.items()))


def bound(injected: float = 0.0, rate: float = 0.0, outside: int = 0) -> Bound:
    return Bound("direct", injected, rate, 0.0, 10_000, outside, 5.0, 0.1)


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], Path]:
    """A program that runs the given lines of shell."""

    def write(script: str) -> Path:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


def test_lines_become_values() -> None:
    lines = parse(SYNC + "\n" + COUNTER)
    assert [type(line).__name__ for line in lines] == ["Sync", "Counter", "CoreOffset"]
    assert of(lines, Counter)[0].trust == "trusted"
    assert of(lines, ReadCost) == []


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"bench": "other"}', '{"bench": "ecp"}'])
def test_a_line_of_another_program_is_an_error(text: str) -> None:
    with pytest.raises(ProgramError):
        parse(text)


def test_a_failed_synchronisation_is_read_a_crash_is_not(fake: Callable[[str], Path]) -> None:
    lines = measure(fake(f"cat <<'E'\n{COUNTER}\nE\nexit 1"), "sync", timeout_s=600.0)
    assert len(lines) == 2
    for script in ("echo broken >&2; exit 1", f"cat <<'E'\n{COUNTER}\nE\nkill -9 $$"):
        with pytest.raises(ProgramError):
            measure(fake(script), "sync", timeout_s=600.0)


def test_read_cost_is_judged_by_best_rounds() -> None:
    figures = by_name(judge.costs([costs(18.2), costs(18.8), costs(19.4)]))
    rdtscp = figures["read.over_rdtscp"]
    assert rdtscp.value == pytest.approx(18.8 / 18)
    assert (rdtscp.n, rdtscp.holds) == (3, True)
    assert figures["read.over_clock_monotonic"].value == pytest.approx(18.8 / 24)
    assert figures["read.over_clock_monotonic"].holds is True
    slow = by_name(judge.costs([costs(20.5)]))
    assert [figure.holds for figure in slow.values()] == [False, False]


def test_without_a_rival_nothing_is_claimed() -> None:
    figure = judge.costs([[line for line in costs(19.0) if line != costs(19.0)[1]]])[0]
    assert (figure.value, figure.holds) == (None, None)
    assert "rdtscp" in figure.note


def test_a_single_violation_misses_the_target_and_parts_are_summed() -> None:
    clean = [Ecp("migrations", 1000, 0, 1.0, 5), Ecp("hand_overs", 10, 0, 1.0)]
    clean.append(Ecp("refinements", 100, 0, 1.0, rate_changes=3))
    figures = by_name(judge.ecp([*clean, *clean], EVERY))
    assert all(figure.holds for figure in figures.values())
    assert figures["ecp.violations.migrations"].n == 2000
    assert "2,000 reads" in figures["ecp.violations.migrations"].note
    wrong = by_name(judge.ecp([*clean, Ecp("hand_overs", 10, 1, 1.0)], EVERY))
    assert wrong["ecp.violations.hand_overs"].holds is False
    assert wrong["ecp.violations.migrations"].holds is True


def test_a_target_that_was_not_measured_does_not_hold() -> None:
    assert not any(figure.holds for figure in judge.ecp([], EVERY))
    unmoved = by_name(judge.ecp([Ecp("migrations", 1000, 0, 1.0, 0)], EVERY))
    assert unmoved["ecp.violations.migrations"].holds is False
    unrefined = by_name(judge.ecp([Ecp("refinements", 1000, 0, 1.0)], EVERY))
    assert unrefined["ecp.violations.refinements"].holds is False
    assert not any(figure.holds for figure in judge.bound([], 10))


def test_synchronisation_has_four_targets() -> None:
    good = of(parse(SYNC), Sync)[0]
    figures = by_name(judge.sync(good, {}))
    assert all(figure.holds for figure in figures.values())
    assert figures["sync.median_error"].value == pytest.approx(8e-9)
    bad = Sync(200, 0, 1, 200, 51.0, 90.0, 201.0, 300.0, 1e6)
    assert not any(figure.holds for figure in judge.sync(bad, {}))
    failed = by_name(judge.sync(Sync(0, 200, 0, 0), {}))
    assert failed["sync.median_error"].value is None
    assert not any(figure.holds for figure in failed.values())


def test_without_namespaces_there_is_a_note_and_no_verdict() -> None:
    for figure in judge.no_sync("needs root"):
        assert (figure.value, figure.holds, figure.note) == (None, None, "needs root")


def test_a_peer_stands_beside_ours_or_says_why_not() -> None:
    good = of(parse(SYNC), Sync)[0]
    peers = {
        "ptp4l": judge.PeerErrors(offsets_ns=(-400.0, 100.0, 500.0)),
        "chronyd": judge.PeerErrors(offsets_ns=(), problem="it would not start"),
    }
    figures = by_name(judge.sync(good, peers))
    assert figures["sync.beside_ptp4l"].peer_value == pytest.approx(400e-9)
    assert figures["sync.beside_ptp4l"].ratio == pytest.approx(50)
    assert figures["sync.beside_chronyd"].note == "it would not start"


def test_a_clock_outside_its_bound_or_with_an_invented_rate_misses() -> None:
    good = by_name(judge.bound([bound(), bound(30.0, -29.9)], 10))
    assert all(figure.holds for figure in good.values())
    assert good["bound.outside"].n == 20_000
    assert by_name(judge.bound([bound(outside=1)], 10))["bound.outside"].holds is False
    assert by_name(judge.bound([bound(rate=-0.1)], 10))["bound.invented_rate"].holds is False


def test_peers_logs_are_read() -> None:
    chronyd = (
        "   Date (UTC) Time     IP Address    Std dev'n Est offset  Offset sd\n=====\n"
        "2026-11-21 05:00:19 10.0.0.1         1.939e-06 -7.665e-07  1.146e-06 -3.169e-04\n"
    )
    assert parse_chronyd(chronyd) == [pytest.approx(-766.5)]
    ptp4l = (
        "ptp4l[8484.183]: port 1: MASTER to UNCALIBRATED on RS_SLAVE\n"
        "ptp4l[8486.248]: master offset      -1146 s0 freq    +575 path delay      1127\n"
        "ptp4l[8487.248]: rms  168 max  301 freq +1 +/- 2 delay 900 +/- 0\n"
    )
    assert parse_ptp4l(ptp4l) == [-1146.0, 168.0]
