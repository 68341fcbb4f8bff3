"""Hold `request-clients` against a server that sends each response in 1 to 5 segments.

Each run has three phases: a burst that opens all connections, a pause in which all responses
arrive, and the requests that count. Of these about half as many are under way at once as there are
connections, so that no request waits for one. Three arms take turns: the kernel as it is, and two
seccomp filters that refuse epoll_pwait2 as an older profile (EPERM) and an older kernel (ENOSYS)
do. The server draws the same responses for all of them.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from statistics import median

import msgspec

from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.programs.kernels import kernel_path
from aferir.selftest.options import BenchOptions, Note
from benchmarks.requests import server as serving
from benchmarks.requests.server import Response

PEERS = ()
HELP = "request-clients: latencies and connections beside what a server of segments has stamped"

FORBIDDEN = Path(__file__).with_name("forbidden.py")
"""Script that runs a command with epoll_pwait2 refused."""
_ARMS: Mapping[str, tuple[str, ...]] = {
    "as_is": (),
    "eperm": (sys.executable, str(FORBIDDEN), str(int(errno.EPERM))),
    "enosys": (sys.executable, str(FORBIDDEN), str(int(errno.ENOSYS))),
}
"""Prefix of the client's command, by arm."""
_RUNS, _QUICK_RUNS = 5, 2
_CONNECTIONS = 64
_RATE, _BURST = 450, 2000
"""Requests per second that count, and in the burst: 32 are under way at once, and at most 64."""
_BURST_S, _COUNTED_FROM_S = 0.3, 1.0
_COUNTED_S, _QUICK_COUNTED_S = 10.0, 4.0
_TIME_LIMIT_S = 120.0
_WITHIN = 0.02
_SHARES = (0.05, 0.5, 0.95, 0.99)
_PRIORITY = 50
"""Priority of server and client under SCHED_FIFO, as root, so that other programs do not delay
them.
"""


class Run(msgspec.Struct, frozen=True):
    """One run of the client beside what the server has stamped."""

    counted: int
    failed: int
    connections: int
    """Connections that the server accepted."""
    ours_s: tuple[float, ...]
    """Latencies in s that the client reports, at the quantiles of `_SHARES`."""
    server_s: tuple[float, ...]
    own_late_s: float
    """99th percentile in s of how late the client itself sent requests."""
    segments: int

    @property
    def ratios(self) -> tuple[float, ...]:
        """Client's latencies over the server's."""
        return tuple(ours / theirs for ours, theirs in zip(self.ours_s, self.server_s, strict=True))


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run the arms in turns. Errors: those of the client, MissingError if it is not built."""
    found: dict[str, list[Run]] = {arm: [] for arm in _ARMS}
    runs = _QUICK_RUNS if options.quick else _RUNS
    for number in range(runs):
        for place, arm in enumerate(_ARMS):
            note(f"{arm}, run {number + 1}", (number + place / len(_ARMS)) / runs)
            counted_s = _QUICK_COUNTED_S if options.quick else _COUNTED_S
            found[arm].append(_once(_ARMS[arm], options.seed + number, counted_s))
    figures = [figure for arm, ones in found.items() for figure in judge(arm, ones)]
    figures.append(judge_alike(found))
    return BenchResult(bench="requests", quick=options.quick, figures=tuple(figures))


def _once(prefix: Sequence[str], seed: int, counted_s: float) -> Run:
    priority = _PRIORITY if os.geteuid() == 0 else 0
    first = ("chrt", "-f", str(priority)) if priority else ()
    with serving.serving(seed, priority) as server:
        line = [
            *(*first, *prefix, str(kernel_path("request-clients"))),
            *("--url", f"http://127.0.0.1:{server.port}/", "--connections", str(_CONNECTIONS)),
            *("--rate", f"0:{_BURST},{_BURST_S}:0,{_COUNTED_FROM_S}:{_RATE}"),
            *("--warm-up", f"{_COUNTED_FROM_S}", "--duration", f"{_COUNTED_FROM_S + counted_s}"),
            *("--seed", str(seed)),
        ]
        done = process.run(line, timeout_s=_TIME_LIMIT_S)
    return compare(done.stdout, server.responses, server.connections)


class _Said(msgspec.Struct, frozen=True):
    requests: int
    failed: int
    shares: tuple[float, ...]
    latency_s: tuple[float, ...]
    own_late_p99_s: float


def compare(stdout: str, responses: Sequence[Response], connections: int) -> Run:
    """Compare the client's result with the server's responses to the last, counted, requests."""
    said = msgspec.json.decode(stdout, type=_Said)
    counted = sorted(responses, key=lambda one: one.arrived_s)[-said.requests :]
    took = sorted(one.ended_s - one.arrived_s for one in counted)
    ours = dict(zip(said.shares, said.latency_s, strict=True))
    return Run(
        counted=said.requests,
        failed=said.failed,
        connections=connections,
        ours_s=tuple(ours[share] for share in _SHARES),
        server_s=tuple(took[ceil(share * len(took)) - 1] for share in _SHARES),
        own_late_s=said.own_late_p99_s,
        segments=sum(one.segments for one in counted),
    )


def judge(arm: str, runs: Sequence[Run]) -> list[Figure]:
    """Judge one arm: connections, failures, and the latency that is farthest from the server's."""
    worst = max((ratio for one in runs for ratio in one.ratios), key=lambda ratio: abs(ratio - 1))
    connections = max((one.connections for one in runs), key=lambda n: abs(n - _CONNECTIONS))
    counted = sum(one.counted for one in runs)
    failed = sum(one.failed for one in runs)
    each = ", ".join(
        f"{100 * share:g} % {median(one.ratios[k] for one in runs):.4f}"
        for k, share in enumerate(_SHARES)
    )
    late = 1e3 * max(one.own_late_s for one in runs)
    return [
        Figure(
            name=f"connections.{arm}",
            value=float(connections),
            unit="connections",
            n=len(runs),
            target=f"== {_CONNECTIONS}",
            holds=connections == _CONNECTIONS,
            note=f"accepted by the server, the run that is farthest off; {_CONNECTIONS} asked for",
        ),
        Figure(
            name=f"failed.{arm}",
            value=float(failed),
            unit="requests",
            n=counted,
            target="== 0",
            holds=failed == 0 and counted > 0,
            note=f"responses of {sum(one.segments for one in runs) / max(counted, 1):.2f} segments",
        ),
        Figure(
            name=f"latency_over_server.{arm}",
            value=worst,
            unit="ratio",
            n=len(runs),
            target=f"within {_WITHIN:g} of 1",
            holds=abs(worst - 1) <= _WITHIN,
            note=f"the worst of all; medians of runs: {each}; client late by {late:.2f} ms (99 %)",
        ),
    ]


def judge_alike(found: Mapping[str, Sequence[Run]]) -> Figure:
    """Judge whether latencies are the same if epoll_pwait2 is refused."""
    plain = found["as_is"]
    ratios = [
        ours / theirs
        for arm, runs in found.items()
        if arm != "as_is"
        for one, other in zip(runs, plain, strict=True)
        for ours, theirs in zip(one.ours_s, other.ours_s, strict=True)
    ]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    return Figure(
        name="latency_without_epoll_pwait2",
        value=worst,
        unit="ratio",
        n=len(ratios),
        target=f"within {_WITHIN:g} of 1",
        holds=abs(worst - 1) <= _WITHIN,
        note="over the latency with it, same seed; quantiles, the worst of all runs",
    )
