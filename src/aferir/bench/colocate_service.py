"""Co-location on a real service: every arm beside the others, the bars of the policy `aferir`.

Machines change their speed while a cell's arms run one after the other. So arms are compared as if
they had met the same speed (`aferir.bench.same_speed`): a look at each arm once says who is to be
compared, and where ours seems to do too little, pairs of runs next to each other say how much.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median

import msgspec

from aferir.bench import same_speed
from aferir.bench.options import BenchOptions, Note
from aferir.colocation.evaluation import settled_s
from aferir.colocation.policies import POLICIES
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Batch, Setup, Times, run
from aferir.colocation.trials.capacity import TIMES as CAPACITY
from aferir.colocation.trials.capacity import Tell, highest_rate
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.speed import now as speed_now
from aferir.colocation.trials.study import ALONE, Cell, serving, study
from aferir.model.bench import Figure

SLA = Sla(quantile=0.95, bound_s=0.1)
_OURS = "aferir"
_THREADS = 4
_LOADS, _QUICK_LOADS = (0.25, 0.5, 0.75), (0.5,)
_PROGRAMS, _QUICK_PROGRAMS = ("xz", "gcc"), ("xz",)
_QUICK_ARMS = (ALONE, "default", "idle", "cpu-idle", "fifo", _OURS)
_TIMES, _QUICK_TIMES = Times(2.0, 6.0), Times(1.5, 3.5)
_QUICK_CAPACITY = Times(0.5, 2.0)
_PAIRS, _QUICK_PAIRS = 6, 2
_FIFO_PAIRS = 9
_FIFO_LOAD = 0.5
_STEPS, _QUICK_STEPS = 3, 1
_STEP_S = 6.0
_MOST_RATIO = 1.2
_MOST_SYSTEM_S = 0.05
_MOST_STEP_S = 2.0
_LOWER = 0.9
"""Of the load, where the service alone breaks its SLA in a step: the machine has become slower."""
_TRIES = 6
_NEAR = 0.95
_OF_IDLE = 0.8
_LEAST_CPUS = 0.01
_OF_IDLE_NOTE = (
    "of what plain SCHED_IDLE gives the batch; where that breaks the SLA, of as many CPUs as the "
    "service leaves idle alone; of all of it {:.2f}"
)


class Pair(msgspec.Struct, frozen=True):
    """Ours and another arm, next to each other."""

    ours: Arm
    other: Arm
    alone: Arm | None = None
    """The service at the same time, where the other arm breaks the SLA. What breaks the SLA itself,
    because the machine has become slower, tells nothing of the others."""

    @property
    def speed(self) -> float:
        """Of the machine, over all of them."""
        return same_speed.mean_speed([one for one in (self.ours, self.other, self.alone) if one])

    @property
    def ratio(self) -> float:
        """Of batch work."""
        return _ratio_of(self.ours, self.other, self.speed)

    @property
    def due(self) -> float:
        """Share of the other arm's batch work that the service can do without.

        All of it where the SLA is kept; else at most as many CPUs as the service leaves idle alone.
        """
        if self.alone is None or self.other.meets(SLA):
            return 1.0
        left = max(same_speed.idle_cpus(self.alone, self.speed), _LEAST_CPUS)
        had = same_speed.batch_cpus(self.other, self.speed)
        return 1.0 if had <= left else left / had


Again = Callable[[str], Sequence[Pair]]
"""Pairs of ours and the arm of that name, in a cell that has been tried."""


def sla(options: BenchOptions, note: Note) -> list[Figure]:
    """Cells of a short evaluation with NGINX: SLA kept, batch work done."""
    quick = options.quick
    loads = _QUICK_LOADS if quick else _LOADS
    batches = _QUICK_PROGRAMS if quick else _PROGRAMS
    cells: list[Judged] = []
    with serving("nginx", os.cpu_count() or 1) as service:
        rate = _highest(service, note, quick=quick)
        wanted = [(load, program) for load in loads for program in batches]
        for place, (load, program) in enumerate(wanted):
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
            tell = partial(_note_at, note, place / len(wanted))
            tried = study(service, cell, tell)
            again = partial(_pairs, service, cell, tell, 1 if quick else _PAIRS)
            cells.append(judge(name, tried.arms, again))
    return figures(cells)


def _highest(service: Running, note: Note, *, quick: bool) -> float:
    times = _QUICK_CAPACITY if quick else CAPACITY
    return highest_rate(service, SLA, partial(_note_at, note, 0.0), times)


def _pairs(service: Running, cell: Cell, tell: Tell, count: int, other: str) -> list[Pair]:
    found = []
    for number in range(count):
        tell(f"{_OURS} beside {other}")
        seed, rate = cell.seed + number, cell.asked(cell.rate)
        setup = Setup(service, cell.sla, rate, cell.batch, cell.times, seed)
        names = (other, _OURS) if number % 2 else (_OURS, other)
        arms = {name: run(name, setup) for name in names}
        alone = run(ALONE, setup) if other == "idle" and not arms[other].meets(SLA) else None
        found.append(Pair(arms[_OURS], arms[other], alone))
    return found


def _note_at(note: Note, done: float, said: str) -> None:
    note(said, done)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a cell. None where the service alone breaks its SLA there."""

    words: str
    met: bool | None = None
    near: float | None = None
    """Batch work, of the most that any arm does which keeps the SLA."""
    of_idle: float | None = None
    """Of what plain SCHED_IDLE gives the batch, without what the service needed."""
    of_idle_whole: float | None = None
    """Of all that plain SCHED_IDLE gives the batch."""


def judge(name: str, arms: Sequence[Arm], again: Again) -> Judged:
    """One cell, of which every arm has been tried once."""
    words = f"{name}: {_told(arms)}"
    by_name = {arm.policy: arm for arm in arms}
    alone, ours, idle = by_name[ALONE], by_name[_OURS], by_name["idle"]
    if not alone.meets(SLA):
        return Judged(words=words)
    near, beside = _beside_the_best(ours, arms, again)
    pairs, more = _beside(Pair(ours, idle, alone), _OF_IDLE, again)
    fair = [pair for pair in pairs if pair.alone is None or pair.alone.meets(SLA)]
    return Judged(
        words="; ".join([words, *beside, *more]),
        met=ours.meets(SLA),
        near=near,
        of_idle=median(pair.ratio / pair.due for pair in fair) if fair else None,
        of_idle_whole=median(pair.ratio for pair in fair) if fair else None,
    )


def _beside_the_best(ours: Arm, arms: Sequence[Arm], again: Again) -> tuple[float, list[str]]:
    """Its ratio to the arm that does most of those which keep the SLA whenever they are looked at.

    And what there is to tell.
    """
    words: list[str] = []
    speed = same_speed.mean_speed(arms)
    keep = [arm for arm in arms if arm.meets(SLA) and arm.policy not in (ALONE, _OURS)]
    for other in sorted(keep, key=lambda arm: -same_speed.batch_per_s(arm, speed)):
        ratio = _ratio_of(ours, other, speed)
        if ratio >= _NEAR:
            return ratio, words
        pairs = again(other.policy)
        words.append(_told_of_pairs(other, pairs))
        if all(pair.other.meets(SLA) for pair in pairs):
            return median(pair.ratio for pair in pairs), words
    return 1.0, words


def _beside(once: Pair, least: float, again: Again) -> tuple[Sequence[Pair], list[str]]:
    if once.ratio >= least:
        return [once], []
    pairs = again(once.other.policy)
    return pairs, [_told_of_pairs(once.other, pairs)]


def _ratio_of(ours: Arm, other: Arm, speed: float) -> float:
    theirs = same_speed.batch_per_s(other, speed)
    return same_speed.batch_per_s(ours, speed) / theirs if theirs else 1.0


def _told_of_pairs(other: Arm, pairs: Sequence[Pair]) -> str:
    ratios = _listed(pair.ratio for pair in pairs)
    kept = sum(pair.other.meets(SLA) for pair in pairs)
    return f"{_OURS} over {other.policy} {ratios}, which kept the SLA in {kept} of {len(pairs)}"


def figures(cells: Sequence[Judged]) -> list[Figure]:
    """What is to hold in every cell where the service alone meets its SLA."""
    met = [cell.met for cell in cells if cell.met is not None]
    near = [cell.near for cell in cells if cell.near is not None]
    of_idle = [cell.of_idle for cell in cells if cell.of_idle is not None]
    whole = [cell.of_idle_whole for cell in cells if cell.of_idle_whole is not None]
    n = len(met)
    return [
        Figure(
            name="sla.kept",
            value=sum(met) / n if n else None,
            unit="of cells",
            n=n,
            target="= 1, of cells where the service alone keeps it",
            holds=all(met) if n else None,
            note="; ".join(cell.words for cell in cells),
        ),
        _least("sla.batch", near, _NEAR, "of the most batch work of all arms that keep the SLA"),
        _least(
            "sla.batch_of_idle", of_idle, _OF_IDLE, _OF_IDLE_NOTE.format(min(whole, default=1.0))
        ),
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
        f" {arm.batch_cpus:.2f} of {arm.batch_cpus + arm.idle_cpus:.2f} CPUs"
        f" at {arm.speed:.0f}/s"
        for arm in arms
        if (found := arm.latency(SLA)) is not None
    )


def fifo(options: BenchOptions, note: Note) -> list[Figure]:
    """Pairs of both arms next to each other, in turn the one and the other first.

    At half of the highest load: a machine that has become slower since that was found is asked for
    as much less.
    """
    pairs = _QUICK_PAIRS if options.quick else _FIFO_PAIRS
    times = _QUICK_TIMES if options.quick else _TIMES
    found: dict[float, list[tuple[Arm, Arm]]] = {}
    with serving("nginx", os.cpu_count() or 1) as service:
        before = speed_now()
        half = _FIFO_LOAD * _highest(service, note, quick=options.quick)
        found_at = (before + speed_now()) / 2
        for pair in range(pairs):
            note("a pair of arms", pair / pairs)
            rate = half * same_speed.stepwise(speed_now(), found_at)
            setup = Setup(service, SLA, rate, Batch("xz", _THREADS), times, options.seed + pair)
            names = ("fifo", _OURS) if pair % 2 else (_OURS, "fifo")
            arms = {name: run(name, setup) for name in names}
            found.setdefault(rate, []).append((arms[_OURS], arms["fifo"]))
    rates = " and ".join(f"{rate:.0f}" for rate in sorted(found))
    load = f"nginx at {rates}/s, xz with {_THREADS} threads"
    both = [pair for pairs in found.values() for pair in pairs]
    systems = [one for ours, _ in both for one in ours.system_s]
    others = [one for _, theirs in both for one in theirs.system_s]
    return [quantiles(list(found.values()), load), _system(systems, max(others, default=None))]


def quantiles(cells: Sequence[Sequence[tuple[Arm, Arm]]], load: str) -> Figure:
    """The ratio at the same speed, of which latency is a power within a cell.

    `cells`: pairs at the same rate of requests.
    """
    by_cell = [
        [
            ((ours.speed, mine.quantile_s), (theirs.speed, other.quantile_s))
            for ours, theirs in found
            if (mine := ours.latency(SLA)) and (other := theirs.latency(SLA))
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
        note=f"{load}; pairs {_listed(ratios)}; as measured {_listed(measured)}; with the speed's"
        f" power {power:.1f}",
    )


def _listed(ratios: Iterable[float]) -> str:
    return " ".join(f"{ratio:.2f}" for ratio in ratios)


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
    """From 25 to 75 % of the highest load, and how long the SLA is broken after it.

    Each time the service alone is to answer the same step first, without breaking its SLA.
    """
    count = _QUICK_STEPS if options.quick else _STEPS
    settled: list[float] = []
    with serving("nginx", os.cpu_count() or 1) as service:
        rate = _highest(service, note, quick=options.quick)
        for number in range(count * _TRIES):
            if len(settled) == count:
                break
            note(f"a load step to {3 * rate / 4:.0f}/s", len(settled) / count)
            if _stepped(ALONE, service, rate, options.seed + number) > 0:
                rate *= _LOWER
            else:
                settled.append(_stepped(_OURS, service, rate, options.seed + number))
    longest = max(settled, default=None)
    return [
        Figure(
            name="step.settled",
            value=longest,
            unit="s",
            n=len(settled),
            target=f"<= {_MOST_STEP_S:g}, the longest",
            holds=None if longest is None else longest <= _MOST_STEP_S,
            note=f"nginx from {rate / 4:.0f} to {3 * rate / 4:.0f}/s, xz with {_THREADS} threads",
        )
    ]


def _stepped(policy: str, service: Running, rate: float, seed: int) -> float:
    """Seconds. Moments in the log count from the beginning of the load, warm-up included."""
    times = Times(2.0, 2 * _STEP_S)
    at = times.warm_up_s + _STEP_S
    rates = f"0:{rate / 4:.1f},{at:g}:{3 * rate / 4:.1f}"
    asked = run(policy, Setup(service, SLA, rates, Batch("xz", _THREADS), times, seed)).load.asked
    return settled_s(((one.intended_s, one.latency_s) for one in asked), SLA, at)
