"""What a container costs EP and CG, and whether a planted difference is seen and none is invented.

A trial is an experiment in small: rounds in which native and container run next to each other,
their ratio, and the verdict that a report would give. The planted slowdown is a CPU quota on the
container, so the whole chain is tried, from the control group to the sentence.
"""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from pathlib import PurePosixPath

import msgspec

from aferir import machine, registry
from aferir.environments.base import Instance
from aferir.errors import MissingError
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import EnvironmentSpec, Parameter
from aferir.programs.base import PROGRAM_FOLDER, read_parameters
from aferir.programs.npb.threads import NPB
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.ratio import paired_ratio
from aferir.statistics.verdict import Verdict, decide

HELP = "container over native on EP and CG; planted slowdowns of 10 % and 0 %"
PEERS = ()

_MEMORY_BYTES = 2**30
_TIME_LIMIT_S = 120.0
_RATIO_ROUNDS, _QUICK_RATIO_ROUNDS = 40, 15
_TRIALS, _QUICK_TRIALS = 20, 4
_TRIAL_ROUNDS = 12
_QUOTA = 0.9
_MARGIN = 0.03
_WORKLOADS: dict[str, dict[str, Parameter]] = {
    "ep": {"kernel": "ep", "class": "W", "threads": 1},
    "cg": {"kernel": "cg", "class": "W", "threads": 1},
}
"""Runs of tenths of a second: long against the period of a quota, short against drift."""


class _Pair(msgspec.Struct, frozen=True):
    """Durations in s of neighbouring runs, native and container."""

    native: tuple[float, ...]
    container: tuple[float, ...]

    def verdict(self) -> Verdict:
        return decide(paired_ratio(self.container, self.native))


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Allocate one native instance and two containers, one of them with the planted quota."""
    for finding in registry.by_kind("container").check():
        if finding.status == "missing":
            raise MissingError(finding.message, remedy=finding.remedy)
    draw = random.Random(options.seed)  # noqa: S311
    with ExitStack() as stack:
        native = _allocate(stack, "native", None)
        plain = _allocate(stack, "container", None)
        slowed = _allocate(stack, "container", _QUOTA)
        rounds = _QUICK_RATIO_ROUNDS if options.quick else _RATIO_ROUNDS
        figures = []
        for k, (name, parameters) in enumerate(_WORKLOADS.items()):
            note(f"{name}: container over native", 0.1 * k)
            figures.append(_ratio_figure(name, _measure(native, plain, parameters, rounds, draw)))
        trials = _QUICK_TRIALS if options.quick else _TRIALS
        for planted, container, offset in ((10, slowed, 0.2), (0, plain, 0.6)):
            detected = 0
            for k in range(trials):
                note(f"planted {planted} %, trial {k + 1}", offset + 0.4 * k / trials)
                pair = _measure(native, container, _WORKLOADS["ep"], _TRIAL_ROUNDS, draw)
                detected += pair.verdict().outcome == "higher"
            figures.append(_trial_figure(planted, detected, trials))
    return BenchResult(bench="overhead", quick=options.quick, figures=tuple(figures))


def _allocate(stack: ExitStack, kind: str, quota: float | None) -> Instance:
    spec = EnvironmentSpec(
        name=kind,
        kind=kind,
        cpus=1,
        pin=(max(os.sched_getaffinity(0)),),  # CPU 0 takes most interrupts
        memory_bytes=min(_MEMORY_BYTES, machine.host_limits().memory_bytes // 4),
        cpu_quota=quota,
    )
    environment = registry.by_kind(kind)
    environment.prepare()
    instance = environment.allocate(spec)
    stack.callback(instance.release)
    if not registry.kinds()[kind].on_host:
        for parameters in _WORKLOADS.values():
            program = NPB.command(read_parameters(NPB, parameters)).program
            instance.put(program, PROGRAM_FOLDER / program.name)
        instance.pause()
    return instance


def _measure(
    native: Instance,
    container: Instance,
    parameters: dict[str, Parameter],
    rounds: int,
    draw: random.Random,
) -> _Pair:
    durations: dict[str, list[float]] = {"native": [], "container": []}
    for _ in range(rounds):
        order = [("native", native), ("container", container)]
        draw.shuffle(order)
        for name, instance in order:
            durations[name].append(_duration(instance, parameters))
    return _Pair(tuple(durations["native"]), tuple(durations["container"]))


def _duration(instance: Instance, parameters: dict[str, Parameter]) -> float:
    command = NPB.command(read_parameters(NPB, parameters))
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
    return next(s.value for s in NPB.parse(done.stdout) if s.metric == "duration_s")


def _ratio_figure(name: str, pair: _Pair) -> Figure:
    verdict = pair.verdict()
    interval = verdict.interval
    within = interval is not None and interval.low >= 1 - _MARGIN and interval.high <= 1 + _MARGIN
    return Figure(
        name=f"{name}.container_over_native",
        value=verdict.ratio,
        unit="ratio",
        n=len(pair.native),
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
        note=f"{_TRIAL_ROUNDS} pairs of EP.W a trial",
    )
