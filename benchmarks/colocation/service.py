"""Co-locate with a real service: compare all arms, and judge the policy `aferir` by its targets.

Machines change their speed while a cell's arms run one after the other. So arms are compared as if
they had run at the same speed (`benchmarks.colocation.same_speed`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from statistics import median

from aferir.colocation.evaluation import settled_s
from aferir.colocation.policies import POLICIES
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Batch, Setup, run
from aferir.colocation.trials.capacity import TIMES as CAPACITY
from aferir.colocation.trials.capacity import Tell, highest_rate
from aferir.colocation.trials.load import Times
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.speed import now as speed_now
from aferir.colocation.trials.study import ALONE, Cell, serving, study
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import same_speed
from benchmarks.colocation.cells import SLAS, Named, by_service, chosen
from benchmarks.colocation.judge import MOST_PAIRS, OURS, Judged, Pair, figures, judge, listed

_SLA = SLAS["nginx"]
_THREADS = 4
"""Threads of the batch program beside SCHED_FIFO and in load steps."""
_QUICK_ARMS = (ALONE, "default", "idle", "cpu-idle", "fifo", OURS)
_TIMES, _QUICK_TIMES = Times(2.0, 6.0), Times(1.5, 3.5)
_QUICK_CAPACITY = Times(0.5, 2.0)
_FIFO_PAIRS, _QUICK_FIFO_PAIRS = 9, 2
_FIFO_LOAD = 0.5
_STEPS, _QUICK_STEPS = 3, 1
_STEP_S = 6.0
_MOST_RATIO = 1.2
_MOST_SYSTEM_S = 0.05
_MOST_STEP_S = 2.0
_LOWER = 0.9
"""Factor for the load if the service alone breaks its SLA, as the machine has become slower."""
_TRIES = 6


def sla(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the cells of an evaluation: whether the SLA is kept, and the batch work done."""
    wanted = chosen(options.only, quick=options.quick)
    judged: list[Judged] = []
    for name, cells in by_service(wanted):
        with serving(name, os.cpu_count() or 1) as service:
            at = partial(_note_at, note, len(judged) / len(wanted))
            rate = _highest(service, SLAS[name], at, quick=options.quick)
            for cell in cells:
                done = len(judged)
                tell = partial(_note_at, note, done / len(wanted))
                seed = options.seed + done
                judged.append(_judged(service, cell, rate, seed, tell, quick=options.quick))
    return figures(judged)


def _judged(
    service: Running, named: Named, rate: float, seed: int, tell: Tell, *, quick: bool
) -> Judged:
    """Judge one cell; `rate` is the highest rate at which the service alone meets its SLA."""
    cell = Cell(
        load=named.load_percent / 100,
        batch=Batch(named.program, named.threads),
        sla=SLAS[named.service],
        arms=_QUICK_ARMS if quick else tuple(POLICIES),
        times=_QUICK_TIMES if quick else _TIMES,
        rate=rate,
        seed=seed,
    )
    tried = study(service, cell, tell)
    again = partial(_pairs, service, cell, tell)
    words = f"{named.name} of {rate:.0f}/s"
    return judge(words, cell.sla, tried.arms, again, 1 if quick else MOST_PAIRS)


def _highest(service: Running, sla: Sla, tell: Tell, *, quick: bool) -> float:
    return highest_rate(service, sla, tell, _QUICK_CAPACITY if quick else CAPACITY)


def _pairs(service: Running, cell: Cell, tell: Tell, other: str) -> Iterator[Pair]:
    for number in count():
        tell(f"{OURS} beside {other}")
        seed, rate = cell.seed + number, cell.asked(cell.rate)
        setup = Setup(service, cell.sla, rate, cell.batch, cell.times, seed)
        names = (other, OURS) if number % 2 else (OURS, other)
        arms = {name: run(name, setup) for name in names}
        broken = other == "idle" and not arms[other].meets(cell.sla)
        alone = run(ALONE, setup) if broken else None
        yield Pair(cell.sla, arms[OURS], arms[other], alone)


def _note_at(note: Note, done: float, said: str) -> None:
    note(said, done)


def fifo(options: BenchOptions, note: Note) -> list[Figure]:
    """Run pairs of both arms next to each other, alternating which is first.

    The load is half of the highest. If the machine has become slower since that was found, the rate
    is reduced by as much.
    """
    pairs = _QUICK_FIFO_PAIRS if options.quick else _FIFO_PAIRS
    times = _QUICK_TIMES if options.quick else _TIMES
    found: dict[float, list[tuple[Arm, Arm]]] = {}
    with serving("nginx", os.cpu_count() or 1) as service:
        before = speed_now()
        tell = partial(_note_at, note, 0.0)
        half = _FIFO_LOAD * _highest(service, _SLA, tell, quick=options.quick)
        found_at = (before + speed_now()) / 2
        for pair in range(pairs):
            note("a pair of arms", pair / pairs)
            rate = half * same_speed.stepwise(speed_now(), found_at)
            setup = Setup(service, _SLA, rate, Batch("xz", _THREADS), times, options.seed + pair)
            names = ("fifo", OURS) if pair % 2 else (OURS, "fifo")
            arms = {name: run(name, setup) for name in names}
            found.setdefault(rate, []).append((arms[OURS], arms["fifo"]))
    rates = " and ".join(f"{rate:.0f}" for rate in sorted(found))
    load = f"nginx at {rates}/s, xz with {_THREADS} threads"
    both = [pair for pairs in found.values() for pair in pairs]
    systems = [one for ours, _ in both for one in ours.system_s]
    others = [one for _, theirs in both for one in theirs.system_s]
    return [quantiles(list(found.values()), load), _system(systems, max(others, default=None))]


def quantiles(cells: Sequence[Sequence[tuple[Arm, Arm]]], load: str) -> Figure:
    """Judge the ratio of latencies, corrected to the same speed of the machine.

    A cell has the pairs at one rate of requests. Within a cell, latency is taken to be proportional
    to a power of the speed, which is estimated from all of them.
    """
    by_cell = [
        [
            ((ours.speed, mine.quantile_s), (theirs.speed, other.quantile_s))
            for ours, theirs in found
            if (mine := ours.latency(_SLA)) and (other := theirs.latency(_SLA))
        ]
        for found in cells
    ]
    both = [pair for found in by_cell for pair in found]
    power = same_speed.slope([arm for found in by_cell for arm in zip(*found, strict=True)])
    measured = [mine / other for (_, mine), (_, other) in both]
    ratios = [
        ratio * (theirs / ours) ** power if ours and theirs else ratio
        for ratio, ((ours, _), (theirs, _)) in zip(measured, both, strict=True)
    ]
    middle = median(ratios) if ratios else None
    return Figure(
        name="fifo.p95",
        value=middle,
        unit="times",
        n=len(ratios),
        target=f"<= {_MOST_RATIO:g}, the median pair at the same speed of the machine",
        holds=None if middle is None else middle <= _MOST_RATIO,
        peer="SCHED_FIFO",
        note=f"{load}; pairs {listed(ratios)}; as measured {listed(measured)}; with the speed's"
        f" power {power:.1f}",
    )


def _system(answers: Sequence[float], theirs: float | None) -> Figure:
    worst = max(answers, default=None)
    return Figure(
        name="fifo.system",
        value=worst,
        unit="s",
        n=len(answers),
        target=f"<= {_MOST_SYSTEM_S:g}, the longest answer of a shell",
        holds=None if worst is None else worst <= _MOST_SYSTEM_S,
        peer="SCHED_FIFO",
        peer_value=theirs,
        note="somebody types ten times a second",
    )


def step(options: BenchOptions, note: Note) -> list[Figure]:
    """Step from 25 to 75 % of the highest load, and judge how long the SLA is broken after it.

    Before each trial the service alone must meet the SLA in the same step. If our policy took too
    long, the service alone runs again right after; its time is reported, and changes no judgement.
    """
    count = _QUICK_STEPS if options.quick else _STEPS
    settled: list[float] = []
    told: list[str] = []
    with serving("nginx", os.cpu_count() or 1) as service:
        tell = partial(_note_at, note, 0.0)
        rate = _highest(service, _SLA, tell, quick=options.quick)
        for number in range(count * _TRIES):
            if len(settled) == count:
                break
            note(f"a load step to {3 * rate / 4:.0f}/s", len(settled) / count)
            seed = options.seed + number
            if _stepped(ALONE, service, rate, seed) > 0:
                rate *= _LOWER
                continue
            took_s = _stepped(OURS, service, rate, seed)
            settled.append(took_s)
            if took_s > _MOST_STEP_S:
                after_s = _stepped(ALONE, service, rate, seed)
                told.append(f"; {took_s:.1f} s, the service alone right after {after_s:.1f} s")
    longest = max(settled, default=None)
    return [
        Figure(
            name="step.settled",
            value=longest,
            unit="s",
            n=len(settled),
            target=f"<= {_MOST_STEP_S:g}, the longest",
            holds=None if longest is None else longest <= _MOST_STEP_S,
            note=f"nginx from {rate / 4:.0f} to {3 * rate / 4:.0f}/s, xz with {_THREADS} threads"
            + "".join(told),
        )
    ]


def _stepped(policy: str, service: Running, rate: float, seed: int) -> float:
    """Return the seconds until the SLA holds again after the step.

    Times in the log count from the beginning of the load, warm-up included.
    """
    times = Times(2.0, 2 * _STEP_S)
    at = times.warm_up_s + _STEP_S
    rates = f"0:{rate / 4:.1f},{at:g}:{3 * rate / 4:.1f}"
    asked = run(policy, Setup(service, _SLA, rates, Batch("xz", _THREADS), times, seed)).load.asked
    return settled_s(((one.intended_s, one.latency_s) for one in asked), _SLA, at)
