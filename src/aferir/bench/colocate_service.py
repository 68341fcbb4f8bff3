"""Co-location on a real service: every arm beside the others, the bars of the policy `aferir`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial

from aferir.bench.options import BenchOptions, Note
from aferir.colocation.evaluation import settled_s
from aferir.colocation.policies import POLICIES
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Batch, Setup, Times, run
from aferir.colocation.trials.capacity import highest_rate
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.study import ALONE, Cell, Tried, serving, study
from aferir.model.bench import Figure

SLA = Sla(quantile=0.95, bound_s=0.1)
_OURS = "aferir"
_THREADS = 4
_LOADS, _QUICK_LOADS = (0.25, 0.5, 0.75), (0.5,)
_PROGRAMS, _QUICK_PROGRAMS = ("xz", "gcc"), ("xz",)
_QUICK_ARMS = (ALONE, "default", "idle", "cpu-idle", "fifo", _OURS)
_TIMES, _QUICK_TIMES = Times(2.0, 6.0), Times(1.5, 3.5)
_PAIRS, _QUICK_PAIRS = 6, 2
_STEPS, _QUICK_STEPS = 3, 1
_STEP_S = 6.0
_MOST_RATIO = 1.2
_MOST_SYSTEM_S = 0.05
_MOST_STEP_S = 2.0
_NEAR = 0.95
_OF_IDLE = 0.8


def sla(options: BenchOptions, note: Note) -> list[Figure]:
    """Cells of a short evaluation with NGINX: SLA kept, batch work done."""
    quick = options.quick
    loads = _QUICK_LOADS if quick else _LOADS
    batches = _QUICK_PROGRAMS if quick else _PROGRAMS
    tried: list[tuple[str, Tried]] = []
    with serving("nginx", os.cpu_count() or 1) as service:
        rate = highest_rate(service, SLA, partial(_note_at, note, 0.0))
        cells = [(load, program) for load in loads for program in batches]
        for place, (load, program) in enumerate(cells):
            cell = Cell(
                load=load,
                batch=Batch(program, _THREADS),
                sla=SLA,
                arms=_QUICK_ARMS if quick else tuple(POLICIES),
                times=_QUICK_TIMES if quick else _TIMES,
                rate=rate,
                seed=options.seed + place,
            )
            name = f"nginx x {load:g} of {rate:.0f}/s x {program} x {_THREADS}"
            done = place / len(cells)
            tried.append((name, study(service, cell, partial(_note_at, note, done))))
    return judged(tried)


def _note_at(note: Note, done: float, said: str) -> None:
    note(said, done)


def judged(tried: Sequence[tuple[str, Tried]]) -> list[Figure]:
    """What is to hold in every cell where the service alone meets its SLA."""
    met, near, idle, words = [], [], [], []
    for name, cell in tried:
        arms = {arm.policy: arm for arm in cell.arms}
        ours, plain = arms[_OURS], arms["idle"]
        words.append(f"{name}: {_told(cell.arms)}")
        if not arms[ALONE].meets(SLA):
            continue
        met.append(ours.meets(SLA))
        best = max(
            (one.batch_per_s for one in cell.arms if one.meets(SLA) and one.policy != ALONE),
            default=0.0,
        )
        near.append(ours.batch_per_s / best if best else 1.0)
        idle.append(ours.batch_per_s / plain.batch_per_s if plain.batch_per_s else 1.0)
    n = len(met)
    return [
        Figure(
            name="sla.kept",
            value=sum(met) / n if n else None,
            unit="of cells",
            n=n,
            target="= 1, of cells where the service alone keeps it",
            holds=all(met) if n else None,
            note="; ".join(words),
        ),
        _least("sla.batch", near, _NEAR, "of the most batch work of all arms that keep the SLA"),
        _least("sla.batch_of_idle", idle, _OF_IDLE, "of what plain SCHED_IDLE gives the batch"),
    ]


def _least(name: str, values: Sequence[float], least: float, note: str) -> Figure:
    value = min(values, default=None)
    return Figure(
        name=name,
        value=value,
        unit="times",
        n=len(values),
        target=f">= {least:g}, the least cell",
        holds=None if value is None else value >= least,
        note=note,
    )


def _told(arms: Iterable[Arm]) -> str:
    return ", ".join(
        f"{arm.policy} {1e3 * found.quantile_s:.0f} ms {arm.batch_per_s:.1f}/s"
        for arm in arms
        if (found := arm.latency(SLA)) is not None
    )


def fifo(options: BenchOptions, note: Note) -> list[Figure]:
    """Pairs of both arms next to each other, in turn the one and the other first."""
    pairs = _QUICK_PAIRS if options.quick else _PAIRS
    times = _QUICK_TIMES if options.quick else _TIMES
    ratios: list[float] = []
    systems: list[float] = []
    others: list[float] = []
    with serving("nginx", os.cpu_count() or 1) as service:
        rate = 0.5 * highest_rate(service, SLA, partial(_note_at, note, 0.0))
        for pair in range(pairs):
            note("a pair of arms", pair / pairs)
            setup = Setup(service, SLA, rate, Batch("xz", _THREADS), times, options.seed + pair)
            names = ("fifo", _OURS) if pair % 2 else (_OURS, "fifo")
            arms = {name: run(name, setup) for name in names}
            ours, theirs = (arms[name].latency(SLA) for name in (_OURS, "fifo"))
            if ours and theirs:
                ratios.append(ours.quantile_s / theirs.quantile_s)
            systems += arms[_OURS].system_s
            others += arms["fifo"].system_s
    load = f"nginx at {rate:.0f}/s, xz with {_THREADS} threads"
    return [_ratio(ratios, load), _system(systems, max(others, default=None))]


def _ratio(ratios: Sequence[float], load: str) -> Figure:
    middle = sorted(ratios)[len(ratios) // 2] if ratios else None
    return Figure(
        name="fifo.p95",
        value=middle,
        unit="times",
        n=len(ratios),
        target=f"<= {_MOST_RATIO:g}, the median pair",
        holds=None if middle is None else middle <= _MOST_RATIO,
        peer="SCHED_FIFO",
        note=f"{load}; pairs " + " ".join(f"{one:.2f}" for one in ratios),
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
    """From 25 to 75 % of the highest load, and how long the SLA is broken after it."""
    count = _QUICK_STEPS if options.quick else _STEPS
    settled = []
    with serving("nginx", os.cpu_count() or 1) as service:
        rate = highest_rate(service, SLA, partial(_note_at, note, 0.0))
        for number in range(count):
            note("a load step", number / count)
            settled.append(_stepped(service, rate, options.seed + number))
    return [
        Figure(
            name="step.settled",
            value=max(settled),
            unit="s",
            n=count,
            target=f"<= {_MOST_STEP_S:g}, the longest",
            holds=max(settled) <= _MOST_STEP_S,
            note=f"nginx from {rate / 4:.0f} to {3 * rate / 4:.0f}/s, xz with {_THREADS} threads",
        )
    ]


def _stepped(service: Running, rate: float, seed: int) -> float:
    """Seconds. Moments in the log count from the beginning of the load, warm-up included."""
    times = Times(2.0, 2 * _STEP_S)
    at = times.warm_up_s + _STEP_S
    rates = f"0:{rate / 4:.1f},{at:g}:{3 * rate / 4:.1f}"
    asked = run(_OURS, Setup(service, SLA, rates, Batch("xz", _THREADS), times, seed)).load.asked
    return settled_s(((one.intended_s, one.latency_s) for one in asked), SLA, at)
