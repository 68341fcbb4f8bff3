"""Overhead of a container on EP and CG, and tests with planted differences of 10 % and 0 %.

A trial is a small experiment: rounds in which two containers run side by side, their ratio, and the
verdict that a report would have. The planted slowdown is additional work: in one of the containers
the program does 10 % more. A quota would not slow a program while others use the processor, since a
waiting program is not throttled; and the kernel divides a busy processor among control groups, so
that a native program and one in a container get different shares. A busy machine needs more rounds:
a trial continues until the interval of the ratio is narrow, whatever the ratio is.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import PurePosixPath

import msgspec

from aferir import machine, registry
from aferir.environments.base import Instance
from aferir.errors import UsageError
from aferir.machine import needed
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import EnvironmentSpec, Parameter
from aferir.model.record import Sample
from aferir.programs.base import PROGRAM_FOLDER, Command, read_parameters
from aferir.programs.npb.threads import NPB
from aferir.programs.peak import PEAK, PeakParameters
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.ratio import paired_ratio
from aferir.statistics.verdict import Verdict, decide

HELP = "container over native on EP and CG; planted slowdowns of 10 % and 0 %"
PEERS = ()
SELECTABLE = True

_MEMORY_BYTES = 2**30
_TIME_LIMIT_S = 120.0
_RATIO_ROUNDS, _QUICK_RATIO_ROUNDS = 40, 15
_TRIALS, _QUICK_TRIALS = 20, 4
_TRIAL_ROUNDS, _MOST_TRIAL_ROUNDS = 12, 100
_NARROW = 0.03
"""Half-width of the ratio's 95 % interval at which a trial ends."""
_TRIAL_S = 60.0
"""Time limit of a trial in s, after which it is judged by the rounds so far: so all trials take at
most 40 minutes.
"""
_PLANTED_ROUNDS = {10: 54, 0: 49}
"""Loops of `peak-flops` in the second container, by the planted slowdown in percent. Each loop
takes about 1 ms for each instruction-set level, after an untimed part of the same length; the first
container always runs the number for 0 %.
"""
_MARGIN = 0.03
_WORKLOADS: dict[str, dict[str, Parameter]] = {
    "ep": {"kernel": "ep", "class": "W", "threads": 1},
    "cg": {"kernel": "cg", "class": "W", "threads": 1},
}
"""Workloads of tenths of a second: long against a time slice of the scheduler, short against drift.
"""
_PLANTED = {f"planted_{planted}_percent": planted for planted in _PLANTED_ROUNDS}
_CASES = (*_WORKLOADS, *_PLANTED)


class _Work(msgspec.Struct, frozen=True):
    """A program with its arguments, and the parser of its output."""

    command: Command
    parse: Callable[[str], tuple[Sample, ...]]


class _Pair(msgspec.Struct, frozen=True):
    """Durations in s of runs that were made in pairs, one after the other."""

    baseline: tuple[float, ...]
    values: tuple[float, ...]

    def verdict(self) -> Verdict:
        return decide(paired_ratio(self.values, self.baseline))

    def narrow(self) -> bool:
        interval = self.verdict().interval
        return interval is not None and interval.high <= interval.low * (1 + _NARROW) ** 2

    def joined(self, other: _Pair) -> _Pair:
        return _Pair(self.baseline + other.baseline, self.values + other.values)


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Allocate one native instance and two containers, and alternate programs in two of them.

    Errors: UsageError if `--only` names no case; MissingError if no container starts.
    """
    chosen = [name for name in _CASES if _is_chosen(name, options.only)]
    if not chosen:
        raise UsageError(
            f"--only {' '.join(options.only)}: there is no such case",
            remedy=f"choose from {', '.join(_CASES)}",
        )
    needed.require(registry.by_kind("container").check())
    draw = random.Random(options.seed)  # noqa: S311
    figures = []
    with ExitStack() as stack:
        native = _allocate(stack, "native")
        container, other = _allocate(stack, "container"), _allocate(stack, "container")
        for k, name in enumerate(chosen):
            tell = partial(_tell, note, k / len(chosen), 1 / len(chosen))
            if name in _WORKLOADS:
                tell(f"{name}: container over native", 0.0)
                rounds = _QUICK_RATIO_ROUNDS if options.quick else _RATIO_ROUNDS
                work = _npb(_WORKLOADS[name])
                pair = _measure((native, work), (container, work), rounds, draw)
                figures.append(_ratio_figure(name, pair))
            else:
                trials = _QUICK_TRIALS if options.quick else _TRIALS
                planted = _PLANTED[name]
                detected = _trials(container, other, planted, trials, draw=draw, tell=tell)
                figures.append(_trial_figure(planted, detected, trials))
    return BenchResult(bench="overhead", quick=options.quick, figures=tuple(figures))


def _is_chosen(name: str, only: tuple[str, ...]) -> bool:
    return not only or name.startswith(only)


def _tell(note: Note, start: float, share: float, what: str, done: float) -> None:
    note(what, start + share * done)


def _trials(
    container: Instance,
    other: Instance,
    planted: int,
    trials: int,
    *,
    draw: random.Random,
    tell: Note,
) -> int:
    """Number of trials in which the container with more work was found slower."""
    less, more = _peak(_PLANTED_ROUNDS[0]), _peak(_PLANTED_ROUNDS[planted])
    detected = 0
    for k in range(trials):
        tell(f"planted {planted} %, trial {k + 1}: {detected} found", k / trials)
        began = time.monotonic()
        pair = _measure((container, less), (other, more), _TRIAL_ROUNDS, draw)
        while not (
            pair.narrow()
            or len(pair.baseline) >= _MOST_TRIAL_ROUNDS
            or time.monotonic() - began >= _TRIAL_S
        ):
            pair = pair.joined(_measure((container, less), (other, more), 4, draw))
        detected += pair.verdict().outcome == "higher"
    return detected


def _allocate(stack: ExitStack, kind: str) -> Instance:
    spec = EnvironmentSpec(
        name=kind,
        kind=kind,
        cpus=1,
        pin=(max(os.sched_getaffinity(0)),),  # CPU 0 takes most interrupts
        memory_bytes=min(_MEMORY_BYTES, machine.host_limits().memory_bytes // 4),
    )
    environment = registry.by_kind(kind)
    environment.prepare()
    instance = environment.allocate(spec)
    stack.callback(instance.release)
    if not registry.kinds()[kind].on_host:
        for work in (*map(_npb, _WORKLOADS.values()), _peak(_PLANTED_ROUNDS[0])):
            program = work.command.program
            instance.put(program, PROGRAM_FOLDER / program.name)
        instance.pause()
    return instance


def _npb(parameters: dict[str, Parameter]) -> _Work:
    return _Work(NPB.command(read_parameters(NPB, parameters)), NPB.parse)


def _peak(rounds: int) -> _Work:
    command = PEAK.command(PeakParameters())
    arguments = (*command.arguments, "--rounds", str(rounds))
    return _Work(msgspec.structs.replace(command, arguments=arguments), PEAK.parse)


def _measure(
    baseline: tuple[Instance, _Work],
    compared: tuple[Instance, _Work],
    rounds: int,
    draw: random.Random,
) -> _Pair:
    """Durations of `baseline` and `compared` in each round, in a random order."""
    durations: list[tuple[float, float]] = []
    for _ in range(rounds):
        first = draw.random() < 0.5
        early = _duration(*(baseline if first else compared))
        late = _duration(*(compared if first else baseline))
        durations.append((early, late) if first else (late, early))
    return _Pair(tuple(b for b, _ in durations), tuple(v for _, v in durations))


def _duration(instance: Instance, work: _Work) -> float:
    command = work.command
    inside = not registry.kinds()[instance.spec.kind].on_host
    program = PROGRAM_FOLDER / command.program.name if inside else PurePosixPath(command.program)
    instance.resume()
    try:
        done = instance.run(
            [str(program), *command.arguments],
            environment=command.environment,
            timeout_s=_TIME_LIMIT_S,
        )
    finally:
        instance.pause()
    return next(s.value for s in work.parse(done.stdout) if s.metric == "duration_s")


def _ratio_figure(name: str, pair: _Pair) -> Figure:
    verdict = pair.verdict()
    interval = verdict.interval
    within = interval is not None and interval.low >= 1 - _MARGIN and interval.high <= 1 + _MARGIN
    return Figure(
        name=f"{name}.container_over_native",
        value=verdict.ratio,
        unit="ratio",
        n=len(pair.baseline),
        interval=None if interval is None else (interval.low, interval.high),
        target=f"interval within {1 - _MARGIN:g} and {1 + _MARGIN:g}",
        holds=within,
        note="of durations; needs a quiet machine",
    )


def _trial_figure(planted: int, detected: int, trials: int) -> Figure:
    errors = trials // 20
    return Figure(
        name=f"planted_{planted}_percent.detected",
        value=float(detected),
        unit="trials",
        n=trials,
        target=f">= {trials - errors}" if planted else f"<= {errors}",
        holds=detected >= trials - errors if planted else detected <= errors,
        note=f"{_TRIAL_ROUNDS} to {_MOST_TRIAL_ROUNDS} pairs of peak-flops a trial",
    )
