"""Measure how a connection to an agent changes a program's figures, and what it costs a repetition.

The same program runs here and, over OpenSSH, on a host that is this machine as well, in turns in a
random order.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from aferir import machine, probes, registry
from aferir.environments.base import Instance
from aferir.errors import ProgramError
from aferir.hosts.environment import RemoteEnvironment
from aferir.measuring.run import measure
from aferir.measuring.snapshots import Watch
from aferir.model.bench import Figure
from aferir.model.plan import EnvironmentSpec
from aferir.probes import frequency
from aferir.programs.base import PROGRAM_FOLDER
from aferir.programs.kernels import kernel_path
from aferir.programs.npb.threads import NPB
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.arrays import Array
from aferir.statistics.ratio import paired_ratio
from aferir.statistics.robust import locate
from benchmarks.hosts.kills import own_state
from tests.integration import real_hosts
from tests.integration.real_hosts import Machine

_ROUNDS, _QUICK_ROUNDS = 60, 10
_WITHIN = 0.01
_OVERHEAD_S = 0.020
_ASLEEP_S, _QUICK_ASLEEP_S = 30, 6
_AWAKE = 0.001
"""Largest number of CPUs that both ends of the connection may use while a program runs."""
_TIME_LIMIT_S = 300.0
_ARGUMENTS = ("--class", "S", "--threads", "1")


def line(options: BenchOptions, note: Note) -> list[Figure]:
    """Alternate repetitions here and there; then measure both ends' CPU use during a sleep."""
    if os.geteuid() != 0:
        return [Figure(name="line.overhead", value=None, unit="s", n=0, note="needs root")]
    draw = random.Random(options.seed)  # noqa: S311 - not cryptography
    with contextlib.ExitStack() as on:
        made = tempfile.TemporaryDirectory(prefix="aferir-bench-line-")
        folder = Path(on.enter_context(made))
        on.enter_context(own_state(folder / "own"))
        lab = on.enter_context(real_hosts.lab(folder, ["a"]))
        lab.machines["a"].boot()
        real_hosts.wait_for(lab, "a")
        (host,) = lab.hosts("a")
        on.callback(host.lose)
        spec = EnvironmentSpec(
            name="line",
            kind="native",
            cpus=1,
            pin=(max(os.sched_getaffinity(0)),),
            memory_bytes=min(2**30, machine.host_limits().memory_bytes // 4),
        )
        there = RemoteEnvironment(host, "native").allocate(spec)
        on.callback(there.release)
        here = registry.by_kind("native").allocate(spec)
        on.callback(here.release)
        figures = _in_turns(here, there, options, note, draw)
        note("while a program runs", 0.9)
        return [*figures, _awake(there, lab.machines["a"], options)]


def _in_turns(
    here: Instance, there: Instance, options: BenchOptions, note: Note, draw: random.Random
) -> list[Figure]:
    program = kernel_path("npb-ep")
    there.put(program, PROGRAM_FOLDER / program.name)
    arms = ((here, str(program)), (there, str(PROGRAM_FOLDER / program.name)))
    watch = Watch(probes.all_probes(), kernel_path(frequency.PROGRAM))
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    found: list[list[tuple[float, float]]] = [[], []]
    for k in range(rounds):
        note(f"round {k + 1} of {rounds}", 0.9 * k / rounds)
        for place in draw.sample((0, 1), 2):
            instance, path = arms[place]
            found[place].append(_once(instance, (path, *_ARGUMENTS), watch))
    own = [[one[0] for one in arm] for arm in found]
    around = [np.asarray([one[1] for one in arm]) for arm in found]
    load = f"load {os.getloadavg()[0]:.1f}"
    return [_ratio(own[1], own[0], load), _overhead(around[1] - around[0], around, load)]


def _once(instance: Instance, command: tuple[str, ...], watch: Watch) -> tuple[float, float]:
    """Duration in s by the program's own clock, and the further time in s of its repetition."""
    clock = time.perf_counter()
    done = measure(instance, command, {}, watch, _TIME_LIMIT_S).done
    spent_s = time.perf_counter() - clock
    if done is None:
        raise ProgramError("a repetition of npb-ep failed", remedy="see `aferir hosts check`")
    figures = NPB.parse(done.stdout)
    own_s = next(one.value for one in figures if one.metric == "duration_s")
    return own_s, spent_s - done.duration_s


def _ratio(there: Sequence[float], here: Sequence[float], load: str) -> Figure:
    found = paired_ratio(there, here)
    ends = found.interval
    return Figure(
        name="line.figures_there_over_here",
        value=found.estimate,
        unit="ratio",
        n=found.n,
        interval=None if ends is None else (ends.low, ends.high),
        target=f"{1 - _WITHIN:g} to {1 + _WITHIN:g}",
        holds=found.estimate is not None and abs(found.estimate - 1) <= _WITHIN,
        note=f"durations of EP in class S, in turns; {load}",
    )


def _overhead(longer: Array, around: Sequence[Array], load: str) -> Figure:
    place = locate(longer)
    assert place is not None
    reach = float(stats.t.ppf(0.975, place.n - 1)) * place.error
    both = ", ".join(f"{float(np.median(one)) * 1e3:.1f} ms" for one in around)
    return Figure(
        name="line.overhead",
        value=place.centre,
        unit="s",
        n=place.n,
        interval=(place.centre - reach, place.centre + reach),
        target=f"<= {_OVERHEAD_S:g} s a repetition",
        holds=place.centre <= _OVERHEAD_S,
        note=f"around the program here and there, medians: {both}; {load}",
    )


def _awake(there: Instance, host: Machine, options: BenchOptions) -> Figure:
    """CPU time of the agent and of this process while a program on the host sleeps."""
    asleep_s = _QUICK_ASLEEP_S if options.quick else _ASLEEP_S
    agents = [pid for pid in real_hosts.processes_of(host) if _is_agent(pid)]
    before = _cpu_s(agents) + time.process_time()
    there.run(("sleep", str(asleep_s)), timeout_s=_TIME_LIMIT_S)
    used = (_cpu_s(agents) + time.process_time() - before) / asleep_s
    return Figure(
        name="line.cpus_while_a_program_runs",
        value=used,
        unit="CPUs",
        n=1,
        target=f"<= {_AWAKE:g}",
        holds=used <= _AWAKE,
        note=f"agent and controller together, {asleep_s} s; start and end of the program included",
    )


def _is_agent(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"aferir.hosts.agent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _cpu_s(pids: Sequence[int]) -> float:
    """CPU time in s of all threads of those processes (Documentation/scheduler/sched-stats.rst)."""
    files = [file for pid in pids for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files) / 1e9
