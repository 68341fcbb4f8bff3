"""Judge the accounts of I/O by known cycles, mixes of user and system time, splits and costs.

`account-known` spends a known number of cycles; or it alternates between user and system time, and
measures both at every change. `io-account` and the probes must find the same.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec

from aferir.environments.base import Accounting
from aferir.environments.native import Native, NativeInstance
from aferir.errors import MissingError
from aferir.linux import process
from aferir.machine import host_limits
from aferir.measuring.accounting import watching
from aferir.measuring.snapshots import read_host, wanted
from aferir.model.bench import Figure
from aferir.model.plan import EnvironmentSpec
from aferir.power.load import busy
from aferir.probes import account, all_probes, perf_stat
from aferir.probes.cpu import parse_cpu_ticks, split_percent
from aferir.probes.frequency import ARGUMENTS, parse
from aferir.probes.frequency import PROGRAM as METER
from aferir.programs.kernels import finite, kernel_path, positive, read_figures
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.io_cost import system_share

KNOWN = "account-known"
_MEGACYCLES, _QUICK_MEGACYCLES = 40_000, 10_000
_WINDOW_S, _QUICK_WINDOW_S = 10, 6
_MIXES = ((10, 4000), (30, 700), (50, 4000), (50, 1500), (70, 4000), (90, 700))
"""Percent of system time, and length of a phase in microseconds: 4,000 is a tick of 250 Hz."""
_METER_TRIES = 10
_IDLE_BAR, _CONTENTION_BAR, _POINTS_BAR, _COST_BAR = 0.02, 0.05, 2.0, 0.01


class _Spent(msgspec.Struct, frozen=True):
    """Output of a known program, and what the accounts measured of it."""

    said: dict[str, object]
    user_s: float
    system_s: float
    found: account.Account
    meters: tuple[float, ...]
    """Processor frequency in hertz before and after."""


def cycles(options: BenchOptions, note: Note) -> list[Figure]:
    """Run loops of known cycles, alone and while every processor has another program to run."""
    runs = 2 if options.quick else 8
    figures = []
    for place, (name, bar) in enumerate((("idle", _IDLE_BAR), ("contention", _CONTENTION_BAR))):
        errors: list[float] = []
        others = busy("spin", sorted(os.sched_getaffinity(0))) if name == "contention" else None
        with others or nullcontext():
            for k in range(runs):
                note(f"known cycles, {name}", (place + k / runs) / 2)
                errors.append(_cycle_error(quick=options.quick, chain=("multiply", "add")[k % 2]))
        worst = max(errors, key=abs)
        figures.append(
            Figure(
                name=f"cycles.{name}.worst_error",
                value=worst,
                unit="ratio",
                n=runs,
                target=f"within {bar:g}",
                holds=abs(worst) <= bar,
                note=f"CPU time x frequency; median {statistics.median(errors):+.4f}",
            )
        )
    return [*figures, _against_counters()]


def mixes(options: BenchOptions, note: Note) -> list[Figure]:
    """Run known mixes of user and system time over windows of 10 s."""
    chosen = _MIXES[2:3] if options.quick else _MIXES
    seconds = _QUICK_WINDOW_S if options.quick else _WINDOW_S
    ours, ticks, bounds = [], [], []
    for k, (percent, phase) in enumerate(chosen):
        note(f"{percent} % of system time", k / len(chosen))
        words = ("--seconds", str(seconds), "--system-percent", str(percent), "--phase-us")
        spent = _spend(*words, str(phase))
        truth = _share(finite(spent.said, "user_s"), finite(spent.said, "system_s"))
        target = spent.found.target or account.Modes()
        times = (spent.user_s, spent.system_s)
        told = system_share(times, (target.user_s, target.system_s), target.looks)
        assert told is not None
        ours.append(100 * (told.value - truth))
        ticks.append(100 * (_share(*times) - truth))
        bounds.append(200 * told.error)
    worst = max(ours, key=abs)
    return [
        Figure(
            name="mix.worst_error",
            value=worst,
            unit="points",
            n=len(chosen),
            target=f"within {_POINTS_BAR:g}",
            holds=abs(worst) <= _POINTS_BAR,
            peer="ticks alone",
            peer_value=max(ticks, key=abs),
            note=f"windows of {seconds} s; its own two standard uncertainties: {max(bounds):.2f}",
        )
    ]


def split(options: BenchOptions, note: Note) -> list[Figure]:
    """Judge whether the shares of all CPU states of the machine add up to 100 %."""
    windows = 3 if options.quick else 10
    sums = []
    ratios = []
    for k in range(windows):
        note("split of the processors' time", k / windows)
        clock, before = time.perf_counter(), _ticks()
        time.sleep(1.0)
        elapsed, after = time.perf_counter() - clock, _ticks()
        shares = split_percent(before, after)
        sums.append(sum(shares) if shares is not None else 0.0)
        whole = sum(max(0, b - a) for a, b in zip(before, after, strict=True))
        cpus = os.cpu_count() or 1
        ratios.append(100 * whole / os.sysconf("SC_CLK_TCK") / elapsed / cpus)
    worst = max(sums, key=lambda value: abs(value - 100))
    return [
        Figure(
            name="split.sum",
            value=worst,
            unit="%",
            n=windows,
            target="100 +- 0.1",
            holds=abs(worst - 100) <= 0.1,
            note=f"of the clock's time the kernel's ticks hold {statistics.median(ratios):.2f} %",
        )
    ]


def cost(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the share of one core that all probes take, and how much they slow a program down."""
    pairs = 2 if options.quick else 8
    shares, with_them, without = [], [], []
    for k in range(pairs):
        note("cost of the probes", k / pairs)
        spent = _spend(*_cycle_words(quick=True))
        with_them.append(finite(spent.said, "duration_s"))
        snapshots = _snapshot_seconds()
        shares.append(spent.found.cost_share + 2 * snapshots / _WINDOW_S)
        alone = process.run([str(kernel_path(KNOWN)), *_cycle_words(quick=True)])
        without.append(finite(read_figures(alone.stdout, KNOWN), "duration_s"))
    value = statistics.median(shares)
    lost = statistics.median(a / b for a, b in zip(with_them, without, strict=True)) - 1
    return [
        Figure(
            name="probes.cost",
            value=value,
            unit="cores",
            n=pairs,
            target=f"<= {_COST_BAR:g}",
            holds=value <= _COST_BAR,
            note=f"its own time, and looks at their measured cost, with two snapshots in "
            f"{_WINDOW_S} s; a program beside it took {100 * lost:+.2f} % CPU time",
        )
    ]


def _cycle_words(*, quick: bool, chain: str = "multiply") -> tuple[str, ...]:
    return ("--megacycles", str(_QUICK_MEGACYCLES if quick else _MEGACYCLES), "--chain", chain)


def _cycle_error(*, quick: bool, chain: str) -> float:
    """Return the relative error of CPU time x frequency."""
    spent = _spend(*_cycle_words(quick=quick, chain=chain))
    found = spent.found
    hertz = found.frequency.mean_hz if found.frequency.looks else statistics.mean(spent.meters)
    return (spent.user_s + spent.system_s) * hertz / positive(spent.said, "cycles") - 1


def _against_counters() -> Figure:
    """Compare with the hardware's own count, through perf, if there are counters."""
    name = "cycles.perf_stat.error"
    words = _cycle_words(quick=True)
    command, variables = perf_stat.command(
        ("cycles:u", "cycles:k"), (str(kernel_path(KNOWN)), *words)
    )
    try:
        done = process.run(command, environment=variables, check=False)
    except MissingError:
        return Figure(name=name, value=None, unit="ratio", n=0, note="perf is not installed")
    counted = perf_stat.cycles(perf_stat.parse(done.stderr))
    if counted is None:
        return Figure(name=name, value=None, unit="ratio", n=0, note="no counters are to be seen")
    wanted_cycles = positive(read_figures(done.stdout, KNOWN), "cycles")
    error = sum(counted) / wanted_cycles - 1
    return Figure(
        name=name, value=error, unit="ratio", n=1, target="within 0.03", holds=abs(error) <= 0.03
    )


def _spend(*arguments: str) -> _Spent:
    """Run the known program in a control group, and watch it. Errors: MissingError without root."""
    with _instance() as instance, watching(_watcher(), instance.accounting) as watched:
        before = _meter()
        first = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = instance.run([str(kernel_path(KNOWN)), *arguments])
        last = resource.getrusage(resource.RUSAGE_CHILDREN)
        after = _meter()
    if watched.account is None or watched.account.target is None:
        raise MissingError(
            "io-account could not watch: it takes root and perf events", remedy="sudo aferir ..."
        )
    return _Spent(
        said=read_figures(done.stdout, KNOWN),
        user_s=last.ru_utime - first.ru_utime,
        system_s=last.ru_stime - first.ru_stime,
        found=watched.account,
        meters=(before, after),
    )


@contextmanager
def _instance() -> Iterator[NativeInstance]:
    limits = host_limits()
    instance = Native().allocate(
        EnvironmentSpec(
            name="known",
            kind="native",
            cpus=len(limits.cpus),
            memory_bytes=limits.memory_bytes,
            accounted=True,
        )
    )
    try:
        yield instance
    finally:
        instance.release()


def _meter() -> float:
    command = [str(kernel_path(METER)), *ARGUMENTS]
    # On a busy machine one of the two chains may never be undisturbed.
    tries = (parse(process.run(command).stdout) for _ in range(_METER_TRIES))
    hertz = next((found for found in tries if found is not None), None)
    if hertz is None:
        raise MissingError(
            "this processor's latencies are not known, so its cycles cannot be told by time",
            remedy="use a machine that shows hardware counters",
        )
    return hertz


def _watcher() -> Path:
    return kernel_path(account.PROGRAM)


def _snapshot_seconds() -> float:
    before = time.process_time()
    read_host(wanted(all_probes(), "host"), Accounting(processes=(os.getpid(),)))
    return time.process_time() - before


def _ticks() -> tuple[int, ...]:
    found = parse_cpu_ticks(Path("/proc/stat").read_text(encoding="ascii"))
    assert found is not None
    return found


def _share(user_s: float, system_s: float) -> float:
    return system_s / (user_s + system_s)
