"""Compare b_eff with itself, and our ping-pong and rings with those of the HPC Challenge.

Both run under one mpirun with the same options, alternately, and each pair of neighbouring runs
gives one ratio. Processors change between two speeds for seconds at a time, so a quantile of all
runs would only say which program had more of its runs in the fast seconds.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.programs.effective_bandwidth import (
    CHALLENGE,
    EFFECTIVE_BANDWIDTH,
    NATIVE,
    EffectiveBandwidthParameters,
    challenge,
)
from aferir.programs.kernels import positive, read_figures
from aferir.programs.mpi import launch
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.ratio import paired_ratio

PEERS = ("hpcc",)
AGREEMENT_PERCENT = 5.0
_RUNS, _QUICK_RUNS = 151, 4
_WHOLE_RUNS, _QUICK_WHOLE_RUNS = 5, 2
_PARTS, _QUICK_PARTS = 5, 1
_PROCESSES = 2
_TIME_LIMIT_S = 600.0
_MEMORY_BYTES = 2**31
_BUDGET_MS, _QUICK_BUDGET_MS = 20, 5
_NAMES: Mapping[str, tuple[str, float]] = {
    "AvgPingPongLatency_usec": ("ping_pong_latency_s", 1e-6),
    "AvgPingPongBandwidth_GBytes": ("ping_pong_bandwidth_bps", 1e9),
    "NaturallyOrderedRingLatency_usec": ("natural_ring_latency_s", 1e-6),
    "NaturallyOrderedRingBandwidth_GBytes": ("natural_ring_bandwidth_bps", 1e9),
    "RandomlyOrderedRingLatency_usec": ("random_ring_latency_s", 1e-6),
    "RandomlyOrderedRingBandwidth_GBytes": ("random_ring_bandwidth_bps", 1e9),
}
_ORDER = 200
_INPUT = f"""a small system, so that the other tests take no time
none
HPL.out
8
1
{_ORDER}
1
20
0
1
1
{{processes}}
16.0
1
2
1
4
1
2
1
1
1
0
1
0
2
64
0
0
1
8
#
0
{_ORDER}
0
20
"""
"""Template of hpcc's input file: one value a line, in the order of the HPL's input file."""


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Judge the agreement with the HPC Challenge, then whether b_eff can be reproduced."""
    try:
        found = _agreement(options, note)
    except AferirError as error:
        found = [_nothing(f"network.{name}", error.message) for name in CHALLENGE]
    try:
        return [*found, _reproducible(options, note)]
    except AferirError as error:
        return [*found, _nothing("network.b_eff", error.message)]


def read_challenge(text: str) -> dict[str, float]:
    """Parse the summary that hpcc writes; the keys are our names. Errors: ProgramError."""
    found = {}
    for key, (name, scale) in _NAMES.items():
        match = re.search(rf"^{key}=(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*$", text, re.MULTILINE)
        if match is None or float(match[1]) <= 0:
            raise ProgramError(
                f"hpcc wrote no {key}", remedy="run it by hand and look at its hpccoutf.txt"
            )
        found[name] = float(match[1]) * scale
    return found


def judge(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Figure:
    """Judge one figure of both programs: ours[k] ran right before or right after theirs[k]."""
    found = paired_ratio(ours, theirs)
    itself = paired_ratio(*_next_to_each_other(theirs))
    apart, noise = (
        None if ratio.estimate is None else 100 * abs(ratio.estimate - 1)
        for ratio in (found, itself)
    )
    between = found.interval
    said = "nothing to compare" if apart is None else f"{apart:.1f} % apart"
    if noise is not None:
        said += f"; hpcc's neighbouring runs are {noise:.1f} % apart"
    return Figure(
        name=f"network.{name}",
        value=median(ours),
        unit="s" if name.endswith("_s") else "B/s",
        n=found.n,
        target=f"within {AGREEMENT_PERCENT:g} % of hpcc",
        holds=apart is not None and apart <= AGREEMENT_PERCENT,
        peer="hpcc",
        peer_value=median(theirs),
        ratio=found.estimate,
        note=said
        + ("" if between is None else f" (95 %: {between.low:.3f} to {between.high:.3f})"),
    )


def _next_to_each_other(runs: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Pair runs of one program that were neighbours.

    The second place of a pair alternates, so that the second and third run are neighbours, and so
    on.
    """
    later = runs[2::2]
    return later, runs[1::2][: len(later)]


def judge_reproducible(values: Sequence[float]) -> Figure:
    """Judge the largest difference of any run from the median of the runs."""
    middle = median(values)
    apart = 100 * max(abs(value / middle - 1) for value in values)
    return Figure(
        name="network.b_eff",
        value=middle,
        unit="B/s",
        n=len(values),
        target=f"all runs within {AGREEMENT_PERCENT:g} % of their median",
        holds=apart <= AGREEMENT_PERCENT,
        note=f"the run farthest from it is {apart:.1f} % away; {_PROCESSES} processes, largest "
        f"message {_MEMORY_BYTES // 128 >> 20} MiB",
    )


def _agreement(options: BenchOptions, note: Note) -> list[Figure]:
    peer = options.peers.get(PEERS[0]) or shutil.which("hpcc")
    if peer is None:
        raise MissingError("there is no hpcc on this machine", remedy="apt-get install hpcc")
    command = launch(NATIVE, ("--patterns", "challenge"), processes=_PROCESSES, mpi="openmpi")
    words = [str(command.program), *command.arguments]
    place = next(k for k, word in enumerate(words) if Path(word).name.startswith(NATIVE))
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    runs = _QUICK_RUNS if options.quick else _RUNS
    for run in range(runs):
        note("ping-pong and rings beside hpcc", 0.6 * run / runs)
        # The second program finds a warmer machine, so the order alternates.
        for mine in (True, False) if run % 2 else (False, True):
            if mine:
                done = process.run(words, timeout_s=_TIME_LIMIT_S)
                found = challenge(read_figures(done.stdout, NATIVE))
                ours.append({sample.metric: sample.value for sample in found})
            else:
                theirs.append(_run_hpcc([*words[:place], str(peer)]))
    return [judge(name, [r[name] for r in ours], [r[name] for r in theirs]) for name in CHALLENGE]


def _run_hpcc(words: Sequence[str]) -> dict[str, float]:
    """Run hpcc in a temporary folder, because it reads and writes files of fixed names."""
    with tempfile.TemporaryDirectory(prefix="aferir-hpcc-") as name:
        folder = Path(name)
        text = _INPUT.format(processes=_PROCESSES)
        (folder / "hpccinf.txt").write_text(text, encoding="utf-8")
        process.run(words, timeout_s=_TIME_LIMIT_S, directory=folder)
        return read_challenge((folder / "hpccoutf.txt").read_text(encoding="utf-8"))


def _reproducible(options: BenchOptions, note: Note) -> Figure:
    """Judge whether b_eff can be reproduced: each run is the median of short ones, which alternate.

    Five runs of a minute and a half, one after the other, mostly showed how the speed of the
    machine's memory, which others use too, changed meanwhile: by 8 % here, even for the best value
    of each.
    """
    parameters = EffectiveBandwidthParameters(
        processes=_PROCESSES,
        mpi="openmpi",
        memory_bytes=_MEMORY_BYTES,
        budget_ms=_QUICK_BUDGET_MS if options.quick else _BUDGET_MS,
    )
    command = EFFECTIVE_BANDWIDTH.command(parameters)
    words = [str(command.program), *command.arguments]
    runs = _QUICK_WHOLE_RUNS if options.quick else _WHOLE_RUNS
    parts = _QUICK_PARTS if options.quick else _PARTS
    values: list[list[float]] = [[] for _ in range(runs)]
    for part in range(parts):
        for run in range(runs):
            note("b_eff, again and again", 0.6 + 0.4 * (part * runs + run) / (parts * runs))
            done = process.run(words, timeout_s=_TIME_LIMIT_S)
            values[run].append(positive(read_figures(done.stdout, NATIVE), "b_eff_bps"))
    return judge_reproducible([median(run) for run in values])


def _nothing(name: str, why: str) -> Figure:
    return Figure(name=name, value=None, unit="s" if name.endswith("_s") else "B/s", n=0, note=why)
