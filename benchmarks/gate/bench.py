"""Measure how often a gate is wrong, how long it takes, and how soon `aferir measure` answers."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from aferir.errors import ProgramError
from aferir.gate.judge import Values, judge
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.sequential import Limits
from benchmarks.parts import run_parts
from benchmarks.trials import Attempt, Trial, trials

HELP = "gate: how often it is wrong, how long it takes; the first answer of `aferir measure`"
PEERS = ()
SELECTABLE = RESUMABLE = True

_LIMITS = Limits(at_most=0.01)
_PLANTED = 0.02
_PAIRS = 400
"""Pairs of a program of 0.2 s that fit into five minutes, overhead included."""
_SPREAD = 0.03
_PLANTED_TRIALS, _ITSELF_TRIALS, _QUICK_TRIALS = 20, 100, 1
_BUDGET_S, _QUICK_BUDGET_S = 300.0, 40.0
_AROUND_S = 30.0
"""Time in s that a gate may take beyond its budget: start, builds, the last repetition."""
_NICE = -10
"""Nice value of the gates, if permitted, beside a busy neighbour of the bench at 0. At a load of 38
on two CPUs, a gate at 0 had made only its first pairs after two minutes.
"""
_FIRST_ANSWER_S = 15.0
_STEPS = 4_000_000
"""Iterations of an awk loop that takes about 0.2 s."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run thousands of simulated gates, real ones beside a busy neighbour, and a first answer."""
    parts = {"simulated": _simulated, "planted": _planted, "itself": _itself, "answer": _answer}
    return run_parts("gate", parts, options, note)


def _simulated(options: BenchOptions, note: Note) -> list[Figure]:
    """Simulate gates with heavy-tailed noise, drift, and pairs of which one side was disturbed."""
    trials = 400 if options.quick else 4000
    rng = np.random.default_rng(options.seed)
    note("simulated gates", 0.0)
    wrong = sum(_answer_of(rng, effect=0.0) == "slower" for _ in range(trials))
    at_limit = sum(_answer_of(rng, effect=_LIMITS.at_most) == "slower" for _ in range(trials))
    found = sum(_answer_of(rng, effect=_PLANTED) == "slower" for _ in range(trials))
    noise = f"log-ratios of Student's t with 4 degrees, {_SPREAD:.0%}, one pair in 20 disturbed"
    estimated = "the level is 0.01, and the error is estimated"
    return [
        _share("simulated.alarm_of_itself", wrong, trials, most=0.01, note=noise),
        _share("simulated.alarm_at_the_limit", at_limit, trials, most=0.015, note=estimated),
        _share("simulated.planted_found", found, trials, least=0.95, note=noise),
    ]


def _share(
    name: str, count: int, n: int, *, note: str, least: float = 0.0, most: float = 1.0
) -> Figure:
    return Figure(
        name=name,
        value=count / n,
        unit="1",
        n=n,
        target=f">= {least:g}" if least else f"<= {most:g}",
        holds=least * n <= count <= most * n,
        note=note,
    )


def _answer_of(rng: np.random.Generator, effect: float) -> str:
    base = 0.2 * np.exp(np.cumsum(rng.normal(0, 0.01, _PAIRS)))
    ratio = (1 + effect) * np.exp(_SPREAD * rng.standard_t(4, _PAIRS) / np.sqrt(2))
    ratio *= np.where(rng.random(_PAIRS) < 0.05, np.exp(rng.choice([-0.5, 0.5], _PAIRS)), 1.0)
    values = Values(tuple(base), tuple(base * ratio))
    return judge(values, _PAIRS, _LIMITS, metric="duration_s", better="", unit="s").answer


def _planted(options: BenchOptions, note: Note) -> list[Figure]:
    made = _real(options, note, "planted", 1 + _PLANTED, _PLANTED_TRIALS)
    return _judged("planted", made, least=0.95)


def _itself(options: BenchOptions, note: Note) -> list[Figure]:
    made = _real(options, note, "itself", 1.0, _ITSELF_TRIALS)
    return _judged("itself", made, most=0.01)


def _real(options: BenchOptions, note: Note, name: str, factor: float, wanted: int) -> list[Trial]:
    budget_s = _QUICK_BUDGET_S if options.quick else _BUDGET_S
    with tempfile.TemporaryDirectory() as folder, _busy_neighbour():
        return trials(
            f"gate.{name}",
            _QUICK_TRIALS if options.quick else wanted,
            lambda _: _gate(Path(folder), factor, budget_s),
            options.resume,
            note,
        )


def _judged(
    name: str, made: Sequence[Trial], *, least: float = 0.0, most: float = 1.0
) -> list[Figure]:
    """Judge how often the answer was `slower`, and the longest trial."""
    answers = [one.answer for one in made]
    times = [one.duration_s for one in made]
    said = ", ".join(f"{answers.count(one)} {one}" for one in dict.fromkeys(answers))
    loads = sorted(one.load for one in made)
    return [
        _share(
            f"{name}.slower",
            answers.count("slower"),
            len(made),
            least=least,
            most=most,
            note=f"with a busy neighbour, load {loads[0]:.0f} to {loads[-1]:.0f}: {said}",
        ),
        Figure(
            name=f"{name}.longest_s",
            value=max(times),
            unit="s",
            n=len(made),
            target=f"<= {_BUDGET_S + _AROUND_S:g}",
            holds=max(times) <= _BUDGET_S + _AROUND_S,
            note=f"median {float(np.median(times)):.0f} s",
        ),
    ]


def _gate(folder: Path, factor: float, budget_s: float) -> Attempt:
    lines = [
        f"awk 'BEGIN {{ for (i = 0; i < {round(_STEPS * of)}; i++) x += i % 7; print x }}'"
        for of in (1.0, factor)
    ]
    words = ["gate", "--base-command", lines[0], "--head-command", lines[1], "--at-most", "1%"]
    words += ["--time", f"{budget_s:g}s", "--json", "--runs", str(folder)]
    line = ["nice", "-n", str(_NICE), sys.executable, "-m", "aferir", *words]
    done = process.run(line, check=False)
    try:
        verdict = json.loads(done.stdout)["verdict"]
        said = f"{verdict['pairs']} pairs of {verdict['metric']}"
        return Attempt(str(verdict["answer"]), said)
    except (ValueError, KeyError, TypeError):
        raise ProgramError(f"the gate gave no answer: {done.stderr[-300:]}") from None


@contextlib.contextmanager
def _busy_neighbour() -> Iterator[None]:
    neighbour = process.start(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        process.end(neighbour)


def _answer(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the time to the first answer with the images in place.

    The very first run, which makes the images, is left out.
    """
    line = [sys.executable, "-m", "aferir", "measure", "--new", "--json"]
    for name in ("native", "container", "podman"):
        line += ["--in", name]
    times, known = [], []
    with tempfile.TemporaryDirectory() as folder:
        measure = partial(process.run, [*line, "--runs", folder, "--", "sleep", "0.3"], check=False)
        for number in range(2 if options.quick else 4):
            note("measuring sleep 0.3", number / 4)
            begun = time.monotonic()
            done = measure()
            if number:
                times.append(time.monotonic() - begun)
                known.append(_ratios(done.stdout))
    longest = max(times)
    return [
        Figure(
            name="answer.longest_s",
            value=longest,
            unit="s",
            n=len(times),
            target=f"<= {_FIRST_ANSWER_S:g}",
            holds=longest <= _FIRST_ANSWER_S and min(known) == 2,
            note=f"ratios of {min(known)} environments, the report written",
        )
    ]


def _ratios(stdout: str) -> int:
    """Count the environments that have a ratio to native."""
    try:
        cells = json.loads(stdout)["evaluation"]["cells"]
    except (ValueError, KeyError, TypeError):
        return 0
    return sum(1 for cell in cells if (cell.get("ratio") or {}).get("estimate") is not None)
