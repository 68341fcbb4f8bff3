"""Judge how often planted changes are found and false alarms occur, beside two peers."""

from __future__ import annotations

import zlib

import numpy as np
from scipy import stats

from aferir.model.bench import BenchResult, Figure
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.arrays import Array
from aferir.statistics.changes import LEAST, change_points
from benchmarks.history.series import NOISES, Divide, by_permutation, by_t_test, series
from benchmarks.parts import run_parts

HELP = "change points of series of runs: planted ones found, false alarms, beside two peers"
PEERS = ()
SELECTABLE = True
RUNS = 200
SHIFT = 1.03
WITHIN = 2
"""Largest distance in runs at which a change point counts as found."""
MARGIN = 20
"""Smallest distance in runs of a planted change from both ends."""
TRIALS, QUICK_TRIALS = 200, 8
"""Number of series for each kind of noise; the peers, known to be worse, get a quarter of them."""

WATCHED = 50
"""Number of series that are examined after each run: alarms of one series come in bursts, as its p
value crosses the level again and again.
"""


def ours(values: Array) -> list[int]:
    """Return the places of the product's change points."""
    return [change.at for change in change_points(values)]


ARMS: dict[str, Divide] = {
    "ours": ours,
    "permutation": by_permutation,
    "t-test-0.001": by_t_test(0.001),
}


def found(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the share of planted changes of 3 % that are found within two runs."""
    figures = []
    for k, name in enumerate(NOISES):
        note(f"planted changes {name}", k / len(NOISES))
        figures += _found(name, options)
    return figures


def _found(name: str, options: BenchOptions) -> list[Figure]:
    rng, trials = _random(options, "found", name), _trials(options) // 2
    hits = dict.fromkeys(ARMS, 0)
    for k in range(trials):
        at = int(rng.integers(MARGIN, RUNS - MARGIN + 1))
        values = series(NOISES[name], rng, RUNS)
        values[at:] *= SHIFT
        for who, divide in ARMS.items():
            if who == "ours" or k < trials // 4:
                hits[who] += any(abs(one - at) <= WITHIN for one in divide(values))
    return [
        _share(
            f"found.{name}" + _of(who),
            count,
            trials if who == "ours" else trials // 4,
            target=who == "ours",
        )
        for who, count in hits.items()
    ]


def alarms(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure change points per 1,000 runs in whole series without any change."""
    figures = []
    for k, name in enumerate(NOISES):
        note(f"false alarms {name}", k / len(NOISES))
        rng, trials = _random(options, "alarms", name), _trials(options)
        drawn = [series(NOISES[name], rng, RUNS) for _ in range(trials)]
        for who, divide in ARMS.items():
            own = drawn if who == "ours" else drawn[: trials // 4]
            wrong = sum(len(divide(values)) for values in own)
            figures.append(
                _rate(f"false-alarms.{name}" + _of(who), wrong, len(own), target=who == "ours")
            )
    return figures


def watching(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure alarms per 1,000 runs if the series so far is examined after each new run.

    An alarm is an examination that finds a change point although the one before found none.
    """
    figures = []
    trials = 2 if options.quick else WATCHED
    for k, name in enumerate(NOISES):
        note(f"watching {name}", k / len(NOISES))
        rng, wrong = _random(options, "watching", name), 0
        for _ in range(trials):
            values, before = series(NOISES[name], rng, RUNS), False
            for n in range(2 * LEAST, RUNS + 1):
                now = bool(ours(values[:n]))
                wrong += now and not before
                before = now
        figures.append(_rate(f"watching.{name}", wrong, trials, target=True))
    return figures


_PARTS = {"found": found, "alarms": alarms, "watching": watching}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names."""
    return run_parts("history", _PARTS, options, note)


def _of(who: str) -> str:
    return "" if who == "ours" else f".by-{who}"


def _trials(options: BenchOptions) -> int:
    return QUICK_TRIALS if options.quick else TRIALS


def _random(options: BenchOptions, *case: object) -> np.random.Generator:
    return np.random.default_rng([options.seed, zlib.crc32(repr(case).encode())])


def _share(name: str, hits: int, trials: int, *, target: bool) -> Figure:
    """Return a share with its interval (Clopper and Pearson 1934)."""
    interval = stats.binomtest(hits, trials).proportion_ci()
    share = hits / trials
    return Figure(
        name=name,
        value=100 * share,
        unit="%",
        n=trials,
        interval=(100 * float(interval.low), 100 * float(interval.high)),
        target=">= 95" if target else "",
        holds=share >= 0.95 if target else None,
    )


def _rate(name: str, count: int, trials: int, *, target: bool) -> Figure:
    """Return a rate per 1,000 runs with its interval (Garwood 1936)."""
    thousands = trials * RUNS / 1000
    low = stats.chi2.ppf(0.025, 2 * count) / 2 if count else 0.0
    high = stats.chi2.ppf(0.975, 2 * count + 2) / 2
    return Figure(
        name=name,
        value=count / thousands,
        unit="per 1,000 runs",
        n=trials * RUNS,
        interval=(float(low) / thousands, float(high) / thousands),
        target="<= 1" if target else "",
        holds=count / thousands <= 1 if target else None,
    )
