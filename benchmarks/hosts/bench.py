"""Measure many hosts: the time of a check, the controller's cost, and finding a slow host."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from aferir.hosts import messages, reaching
from aferir.hosts.attendant import Attendant
from aferir.hosts.line import Line
from aferir.linux import namespace, process
from aferir.model.bench import BenchResult, Figure
from aferir.model.host import HostSpec
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.blocks import over_hosts
from aferir.statistics.peers import standings
from aferir.statistics.ratio import paired_ratio
from benchmarks.hosts.kills import kills
from benchmarks.hosts.line import line
from benchmarks.hosts.planted import planted
from benchmarks.hosts.simulated import agents
from benchmarks.parts import run_parts

HELP = "hosts: the cost of a line, 100 checked, 1,000 simulated, the slow one of eight, 20 kills"
PEERS = ()
SELECTABLE = True

_CHECKED, _QUICK_CHECKED = 100, 10
_CHECK_S = 30.0
_FLEETS = (10, 100, 1000)
_LINEAR = 1.3
"""Largest factor beyond proportionality: ten times the hosts may take 13 times the time and memory.
"""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run every part by itself."""
    parts = {
        "line": line,
        "checked": _checked,
        "simulated": _simulated,
        "fleet": _fleet,
        "over_hosts": _over_hosts,
        "planted": planted,
        "kills": kills,
    }
    return run_parts("hosts", parts, options, note)


def _checked(options: BenchOptions, note: Note) -> list[Figure]:
    """Check real agents, each in a network namespace with a state folder of its own."""
    count = _QUICK_CHECKED if options.quick else _CHECKED
    note(f"{count} hosts in namespaces", 0.0)
    if os.geteuid() != 0:
        return [Figure(name="checked.duration", value=None, unit="s", n=0, note="needs root")]
    with (
        namespace.star(count) as star,
        tempfile.TemporaryDirectory(prefix="aferir-bench-hosts-") as folder,
    ):
        file = Path(folder) / "hosts.toml"
        file.write_text(
            "".join(
                f'[[host]]\nname = "n{place}"\nreach = "nsenter --net={namespace.FOLDER}/'
                f'{host.name} env AFERIR_STATE={folder}/{place}"\n'
                for place, host in enumerate(star.hosts)
            ),
            encoding="utf-8",
        )
        line = [sys.executable, "-m", "aferir", "hosts", "check", str(file), "--json"]
        timed = []
        for k in range(1 if options.quick else 3):
            note("aferir hosts check", (k + 1) / 4)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            clock = time.perf_counter()
            done = process.run(line, check=False)
            spent_s = time.perf_counter() - clock
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            answered = sum(bool(one["found"]) for one in msgspec.json.decode(done.stdout).values())
            timed.append((spent_s, cpu_s, answered))
    best = min(timed)
    return [
        Figure(
            name="checked.duration",
            value=best[0],
            unit="s",
            n=len(timed),
            target=f"<= {_CHECK_S:g} for {count} hosts, all of which answer",
            holds=best[0] <= _CHECK_S and all(one[2] == count for one in timed),
            note=f"{count} hosts on {os.cpu_count()} CPUs; {best[1]:.0f} s of CPU time of all "
            f"agents together; load {os.getloadavg()[0]:.1f}; all: "
            + ", ".join(f"{one[0]:.1f} s" for one in timed),
        )
    ]


def _simulated(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure each controller in a process of its own, so that its memory is its own."""
    fleets = _FLEETS[:2] if options.quick else _FLEETS
    found: list[tuple[int, float, float, float]] = []
    for place, count in enumerate(fleets):
        note(f"{count} simulated agents", place / len(fleets))
        several = [_in_a_process(_drive, count) for _ in range(3)]
        reached_s, asked_s = (min(one[k] for one in several) for k in (0, 2))
        memory = _in_a_process(_traced, count)[1]
        found.append((count, reached_s, memory, asked_s))
    figures = []
    few, many = found[-2:]
    grown = many[0] / few[0]
    for column, (name, unit) in enumerate(
        (("reached", "s"), ("memory", "MiB"), ("asked", "s")), start=1
    ):
        values = ", ".join(f"{one[0]}: {one[column]:.3g}" for one in found)
        ratio = many[column] / few[column] / grown
        figures += [
            Figure(
                name=f"simulated.{name}_of_{many[0]}",
                value=many[column],
                unit=unit,
                n=3 if unit == "s" else 1,
                note=f"CPU time of the controller; all: {values}" if unit == "s" else values,
            ),
            Figure(
                name=f"simulated.{name}_growth",
                value=ratio,
                unit="",
                n=3 if unit == "s" else 1,
                target=f"<= {_LINEAR}",
                holds=ratio <= _LINEAR,
                note=f"{many[0]} over {few[0]} agents, over {grown:g}",
            ),
        ]
    return figures


def _drive(count: int) -> tuple[float, float, float]:
    """Return the CPU seconds to connect to all, their MiB, and the CPU seconds of ten calls."""
    reaching.connect([HostSpec(name="x", reach=("x",))] * count)
    with agents() as start:
        attendant = Attendant()
        warm = Line(HostSpec(name="warm", reach=("x",)), start, attendant)
        before, clock = _allocated_mib(), time.process_time()
        lines = [Line(HostSpec(name=f"n{k}", reach=("x",)), start, attendant) for k in range(count)]
        reached_s, memory = time.process_time() - clock, _allocated_mib() - before
        clock = time.process_time()
        for _ in range(10):
            for line in lines:
                line.ask(messages.Describe(), messages.Host)
        asked_s = time.process_time() - clock
        for line in (*lines, warm):
            line.close()
    return reached_s, memory, asked_s


def _traced(count: int) -> tuple[float, float, float]:
    """Measure as `_drive` does, but the MiB that Python has allocated: pages hide small growth."""
    tracemalloc.start()
    return _drive(count)


def _in_a_process(
    act: Callable[[int], tuple[float, float, float]], count: int
) -> tuple[float, ...]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_tell, args=(theirs, act, count))
    child.start()
    found: tuple[float, ...] = ours.recv()
    child.join()
    return found


def _tell(pipe: object, act: Callable[[int], tuple[float, float, float]], count: int) -> None:
    pipe.send(act(count))  # type: ignore[attr-defined]


def _allocated_mib() -> float:
    return tracemalloc.get_traced_memory()[0] / 2**20


def _fleet(options: BenchOptions, note: Note) -> list[Figure]:
    """Simulate fleets: rounds that drift, heavy tails, one value in twenty disturbed."""
    trials = 200 if options.quick else 1000
    rng = np.random.default_rng(options.seed)
    figures = []
    cases = (
        *((f"alarm_of_{hosts}", hosts, 0.0) for hosts in (4, 8, 40)),
        ("found_of_8", 8, 0.05),
    )
    for place, (name, hosts, effect) in enumerate(cases):
        note(f"fleets of {hosts}", place / len(cases))
        count = trials if hosts < 40 else trials // 4
        hits = sum(_named(rng, hosts, effect) for _ in range(count))
        share = hits / count
        error = 1.96 * np.sqrt(max(share * (1 - share), 1 / count) / count)
        holds = share - error <= 0.05 if not effect else share + error >= 0.9
        figures.append(
            Figure(
                name=f"fleet.{name}",
                value=share,
                unit="",
                n=count,
                interval=(max(0.0, share - error), min(1.0, share + error)),
                target=">= 0.9" if effect else "<= 0.05",
                holds=bool(holds),
                note=f"{hosts} hosts that scatter by 0.5 %, noise of 2 %, 20 rounds"
                + (f"; one of them {effect:.0%} slower" if effect else ", all alike"),
            )
        )
    return figures


def _over_hosts(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure how often the interval of a ratio over several hosts contains the true ratio."""
    trials = 200 if options.quick else 1000
    rng = np.random.default_rng(options.seed)
    figures = []
    for place, hosts in enumerate((2, 4, 16)):
        note(f"ratios over {hosts} hosts", place / 3)
        share = sum(_holds(rng, hosts) for _ in range(trials)) / trials
        error = 1.96 * float(np.sqrt(max(share * (1 - share), 1 / trials) / trials))
        figures.append(
            Figure(
                name=f"over_hosts.coverage_of_{hosts}",
                value=share,
                unit="",
                n=trials,
                interval=(max(0.0, share - error), min(1.0, share + error)),
                target="0.95 within the interval, or more",
                holds=share + error >= 0.95,
                note="ratio of 1.02, hosts scatter by 1 %, heavy-tailed noise of 2 %, 20 rounds",
            )
        )
    return figures


def _holds(rng: np.random.Generator, hosts: int) -> bool:
    """Whether the interval from that many simulated hosts contains the true ratio."""
    ratios = []
    for effect in rng.normal(np.log(1.02), 0.01, hosts):
        rounds = rng.normal(0.0, 0.1, 20)
        noise = 0.02 / np.sqrt(2.0) * rng.standard_t(4, (2, 20))
        ratios.append(paired_ratio(np.exp(rounds + effect + noise[0]), np.exp(rounds + noise[1])))
    logs = [float(np.log(one.estimate)) for one in ratios if one.estimate is not None]
    found = over_hosts(logs, [one.log_error for one in ratios]).interval
    return found is not None and found.contains(1.02)


def _named(rng: np.random.Generator, hosts: int, effect: float) -> bool:
    """Return whether any host is named; with an effect, whether the first one is."""
    own = rng.normal(0.0, 0.005, hosts)
    own[0] += np.log1p(effect)
    noise = 0.02 / np.sqrt(2.0) * rng.standard_t(4, (hosts, 20))
    noise[rng.random(noise.shape) < 0.05] += 0.3
    values = np.exp(own[:, None] + rng.normal(0.0, 0.1, 20)[None, :] + noise)
    found = standings({str(k): list(values[k]) for k in range(hosts)})
    named = {one.name for one in found if one.differs}
    return "0" in named if effect else bool(named)
