"""The server of segments, the filter, and figures of the bench of request-clients."""

from __future__ import annotations

import errno
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.linux import process
from benchmarks.requests import bench, server
from benchmarks.requests.bench import Run
from benchmarks.requests.server import Response

CALL = (
    "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True);"
    "libc.syscall(441, -1, 0, 0, 0, 0); sys.exit(ctypes.get_errno())"
)


@given(seed=st.integers(0, 2**32), request=st.integers(0, 10**6))
def test_a_response_is_whole_and_its_segments_are_in_order(seed: int, request: int) -> None:
    drawn = server.segments_of(seed, request, 5.0, 7)
    assert [one.place for one in drawn] == list(range(drawn[0].segments))
    assert 1 <= len(drawn) == drawn[0].segments <= server.MOST_SEGMENTS
    assert sorted(drawn) == drawn
    assert server.SHORTEST_S <= drawn[-1].due_s - 5.0 <= server.LONGEST_S + 1e-9
    head, _, body = b"".join(one.text for one in drawn).partition(b"\r\n\r\n")
    if b"chunked" in head:
        length, _, rest = body.partition(b"\r\n")
        assert rest == b"x" * int(length, 16) + b"\r\n0\r\n\r\n"
    else:
        assert len(body) == int(head.rpartition(b" ")[2])
    assert drawn == server.segments_of(seed, request, 5.0, 7)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM], ids=["ENOSYS", "EPERM"])
def test_the_call_is_refused_under_the_filter(number: int) -> None:
    refusing = [sys.executable, str(bench.FORBIDDEN), str(int(number))]
    done = process.run([*refusing, sys.executable, "-c", CALL], check=False)
    assert done.exit_code == number


def test_the_last_requests_count_and_are_compared_by_quantiles() -> None:
    said = {
        "requests": 2,
        "failed": 1,
        "shares": [0.05, 0.5, 0.95, 0.99, 1.0],
        "latency_s": [0.101, 0.101, 0.202, 0.202, 0.2],
        "own_late_p99_s": 1e-4,
    }
    burst, later, last = Response(1, 1.9, 5), Response(3, 3.1, 2), Response(4, 4.2, 1)
    found = bench.compare(json.dumps(said), [last, later, burst], 64)
    assert found.server_s == pytest.approx((0.1, 0.1, 0.2, 0.2))
    assert found.ratios == pytest.approx((1.01, 1.01, 1.01, 1.01))
    assert (found.counted, found.failed, found.connections, found.segments) == (2, 1, 64, 3)


def run(ours: float = 0.1, connections: int = 64, failed: int = 0) -> Run:
    return Run(
        counted=100,
        failed=failed,
        connections=connections,
        ours_s=(ours,) * 4,
        server_s=(0.1,) * 4,
        own_late_s=1e-4,
        segments=300,
    )


@pytest.mark.parametrize(
    ("odd", "holds"),
    [
        (run(), [True, True, True]),
        (run(connections=65), [False, True, True]),
        (run(failed=1), [True, False, True]),
        (run(ours=0.1021), [True, True, False]),
        (run(ours=0.0979), [True, True, False]),
    ],
    ids=["right", "connections", "failed", "late", "early"],
)
def test_one_deviating_run_misses_its_target(odd: Run, holds: list[bool]) -> None:
    assert [figure.holds for figure in bench.judge("as_is", [run(), odd])] == holds


def test_arms_are_alike_by_runs_of_one_seed() -> None:
    same = {"as_is": [run(0.1), run(0.2)], "eperm": [run(0.1), run(0.2)]}
    assert bench.judge_alike(same).value == 1
    assert bench.judge_alike(same | {"eperm": [run(0.1), run(0.195)]}).holds is False
