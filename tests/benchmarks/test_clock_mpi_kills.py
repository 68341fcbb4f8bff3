"""Figures of the clock bench from MPI jobs that were started again after a kill."""

from __future__ import annotations

import pytest

from benchmarks.clock.mpi_kills import Outcome, judge, outcome

OUT = "spread_ns 900 known_ns 300 order_ns -100 passed_ns 1000000\nverdict 0\nverdict 0\n"


def reported(doubt: int = 250, hosts: int = 2) -> str:
    each = '"hosts": %d, "global": true, "doubt_ns": %d, "rate_doubt_ppb": 50000.0}'
    report = 'aferir-mpi: {"rank": 0, ' + each % (hosts, doubt)
    return "a warning of the launcher\n" + report + report + "\naferir-mpi: {"


@pytest.mark.parametrize(
    ("code", "out", "err", "expected"),
    [
        (0, OUT, reported(), "right"),
        (0, OUT, reported(doubt=240), "wrong"),
        (0, OUT.replace("-100", "-601"), reported(), "wrong"),
        (0, OUT.replace("verdict 0\nv", "verdict 1\nv"), reported(), "wrong"),
        (0, OUT, reported(hosts=1), "wrong"),
        (0, OUT, "", "wrong"),
        (0, "", reported(), "wrong"),
        (1, OUT, "a message", "error"),
        (1, OUT, " \n", "wrong"),
    ],
    ids=[
        *("right", "beyond the doubt", "before it was sent", "a rank objects", "one host"),
        *("no reports", "no comparison", "said why", "said nothing"),
    ],
)
def test_a_job_is_right_within_its_doubt(code: int, out: str, err: str, expected: Outcome) -> None:
    assert outcome(code, out, err) == expected


def test_hung_launchers_are_counted_apart() -> None:
    good, launcher = judge("openmpi", [("rank", "right"), ("all", "error"), ("all", "launcher")])
    assert (good.value, good.n, good.holds) == (2, 2, True)
    assert (launcher.value, launcher.n, launcher.holds) == (1, 3, None)
    bad, _ = judge("mpich", [("rank", "right"), ("launcher", "hung")])
    assert (bad.value, bad.n, bad.holds) == (1, 2, False)
    assert "launcher: hung" in bad.note
