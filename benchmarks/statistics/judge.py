"""Compute the bench's figures with the product's own functions, on simulated data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from aferir.model.bench import Figure
from aferir.model.plan import Cell, WorkloadSpec
from aferir.runner.order import arrange
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.multiple import holm
from aferir.statistics.ratio import (
    Ratio,
    paired_ratio,
    typical_of_pairs,
    typical_of_samples,
    unpaired_ratio,
)
from aferir.statistics.robust import biweight, locate_rows
from aferir.statistics.tails import critical
from aferir.statistics.verdict import Rule, decide
from benchmarks.statistics.shapes import (
    DEPENDENT,
    INDEPENDENT,
    STALLS,
    STICKING_SLOW,
    Array,
    Shape,
    normal,
    spikes,
    sticking,
)

Compare = Callable[[Array, Array], Ratio]
KINDS: dict[str, Compare] = {"paired": paired_ratio, "unpaired": unpaired_ratio}
SIZES = (8, 12, 20, 40)
FAMILIES = (1, 6, 24, 60, 180)
CLAIMS = ("higher", "lower")
TRUE_RATIO = 1.05
TRIALS, QUICK_TRIALS = 4000, 100
FINER = 3
"""Factor for the number of trials if a target is near the truth, or a share is taken of a share."""
SCREEN = 0.02
"""P value above which no difference is claimed, however small the family of comparisons: such pairs
are not examined one by one.
"""


def coverage(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the share of 95 % intervals that contain the true ratio of 1.05."""
    cases = [(kind, name, n) for kind in KINDS for name in INDEPENDENT for n in (5, *SIZES)]
    figures = []
    for k, (kind, name, n) in enumerate(cases):
        note(f"coverage {kind} {name} {n}", k / len(cases))
        rng, trials = _random(options, "coverage", kind, name, n), _trials(options)
        draw = INDEPENDENT[name]
        hits = sum(
            _holds(ratio, TRUE_RATIO)
            for ratio in _ratios(kind, draw, rng, trials, n, factor=TRUE_RATIO)
        )
        figures.append(
            _share(f"coverage.{kind}.{name}.{n}", hits, trials, (0.93, 0.97) if n >= 8 else None)
        )
    return figures


def families(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure how often an experiment without any difference claims one, by its size."""
    shapes = {
        "paired": ("normal", "heavy-t2", "states-1.2-in-45-percent", "states-1.1-in-30-percent"),
        "unpaired": ("normal", "states-1.2-in-45-percent"),
    }
    shapes["paired"] = (*shapes["paired"], "spikes", "clock-steps-of-noise")
    cases = [(kind, name, n) for kind in shapes for name in shapes[kind] for n in (8, 12, 20, 40)]
    experiments = 20 if options.quick else TRIALS // 2  # of the largest family; more of others
    figures = []
    for k, (kind, name, n) in enumerate(cases):
        note(f"families {kind} {name} {n}", k / len(cases))
        rng = _random(options, "families", kind, name, n)
        ratios = _small_p(kind, INDEPENDENT[name], rng, experiments * max(FAMILIES), n)
        for size in FAMILIES:
            count = experiments * max(FAMILIES) // size
            count = min(count, 20 * experiments)
            wrong = sum(
                _claims(size, [r for i in range(f * size, (f + 1) * size) if (r := ratios.get(i))])
                for f in range(count)
            )
            figures.append(
                _share(f"false-claims.{kind}.{name}.{n}.of-{size}", wrong, count, (0.0, 0.06))
            )
    return figures


def equivalence(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure how often a comparison is called equivalent although one side stalls."""
    cases = [(name, n) for name in STALLS for n in (8, 12, 20, 29, 40)]
    figures = []
    for k, (name, n) in enumerate(cases):
        note(f"equivalence {name} {n}", k / len(cases))
        rng, trials = _random(options, "equivalence", name, n), _trials(options)
        slow, plain = STALLS[name](rng, trials, n, 1.0), normal(0.005)(rng, trials, n, 1.0)
        outcomes = [decide(paired_ratio(*two)).outcome for two in zip(slow, plain, strict=True)]
        said = outcomes.count("equivalent")
        figures.append(_share(f"equivalence.{name}.{n}", said, trials, (0.0, 0.05)))
        seen = outcomes.count("stalls")
        figures.append(_share(f"stalls-seen.{name}.{n}", seen, trials, None))
    for n in (12, 29, 40):
        rng, trials = _random(options, "equal", n), _trials(options)
        one, other = (normal(0.005)(rng, trials, n, 1.0) for _ in range(2))
        said = sum(
            decide(paired_ratio(a, b)).outcome == "equivalent"
            for a, b in zip(one, other, strict=True)
        )
        figures.append(_share(f"equivalence.equal-arms.{n}", said, trials, None))
    return figures


def power(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the share of true differences claimed; the targets are those of the first release."""
    cases: list[tuple[str, Shape, float, int, float | None]] = [
        ("2-percent.noise-1-percent", normal(0.01), 1.02, 8, None),
        ("2-percent.noise-1-percent", normal(0.01), 1.02, 12, 0.89),
        ("2-percent.noise-1-percent", normal(0.01), 1.02, 20, 0.95),
        ("5-percent.noise-3-percent", normal(0.03), 1.05, 8, None),
        ("5-percent.noise-3-percent", normal(0.03), 1.05, 12, 0.69),
        ("5-percent.noise-3-percent", normal(0.03), 1.05, 20, 0.90),
        ("10-percent.spikes", spikes, 1.1, 8, None),
        ("10-percent.spikes", spikes, 1.1, 12, 0.95),
        ("10-percent.spikes", spikes, 1.1, 20, 0.95),
    ]
    figures = []
    for k, (name, shape, factor, n, least) in enumerate(cases):
        for kind in KINDS:
            note(f"power {kind} {name} {n}", k / len(cases))
            rng, trials = _random(options, "power", kind, name, n), FINER * _trials(options)
            found = sum(
                decide(ratio).outcome == "higher"
                for ratio in _ratios(kind, shape, rng, trials, n, factor=factor)
            )
            # Two standard errors below the target may be chance.
            target = None if least is None or kind == "unpaired" else (least, 1.0)
            figures.append(_share(f"power.{kind}.{name}.{n}", found, trials, target, slack=True))
    return figures


def dependence(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure how many intervals of dependent values exclude 1, and how many of these warn."""
    cases = [(kind, name, n) for kind in KINDS for name in DEPENDENT for n in SIZES]
    figures = []
    for k, (kind, name, n) in enumerate(cases):
        note(f"dependence {kind} {name} {n}", k / len(cases))
        rng, trials = _random(options, "dependence", kind, name, n), FINER * _trials(options)
        ratios = list(_ratios(kind, DEPENDENT[name], rng, trials, n, factor=1.0))
        figures += _warned(f"{kind}.{name}.{n}", ratios, 0.95)
    for n in SIZES:
        figures += _sides_stick(options, n)
        figures.append(_machine_sticks(options, n))
    return figures


def drift(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure coverage if both sides become slower alike: by a ramp of 20 %, a step of 30 %."""
    figures = []
    for n in SIZES:
        note(f"drift {n}", n / max(SIZES))
        t = np.arange(n) / n
        for name, trend in (("ramp", 1 + 0.2 * t), ("step", np.where(t < 0.5, 1.0, 1.3))):
            rng, trials = _random(options, "drift", name, n), _trials(options)
            hits = sum(
                _holds(paired_ratio(a * trend, b * trend), TRUE_RATIO)
                for a, b in _pairs(normal(0.01), rng, trials, n, TRUE_RATIO)
            )
            figures.append(_share(f"coverage.paired.shared-{name}.{n}", hits, trials, (0.93, 0.97)))
    return figures


def _sides_stick(options: BenchOptions, n: int) -> list[Figure]:
    """Let each side keep a slow or fast state: one kept all run cannot be told from a cost."""
    rng, trials = _random(options, "sticking", n), _trials(options)
    lasting: list[Ratio] = []
    changing: list[Ratio] = []
    for a, b in _pairs(sticking, rng, trials, n, 1.0):
        slow = np.array([a, b]) > STICKING_SLOW
        changes = bool((slow != slow[:, :1]).any())
        (changing if changes else lasting).append(paired_ratio(a, b))
    name = "paired.state-of-each-side"
    return [
        *_warned(f"{name}-changes-in-the-run.{n}", changing, None),
        *_warned(f"{name}-lasts-the-run.{n}", lasting, None),
    ]


def _machine_sticks(options: BenchOptions, n: int) -> Figure:
    """Let the machine keep a state over repetitions; measure how often intervals contain 1."""
    rng, trials = _random(options, "machine", n), _trials(options)
    spec = WorkloadSpec(name="w", program="p", parameters={}, time_limit_s=1)
    cells = [Cell(id=e, group="w", environment=e, workload=spec) for e in "ab"]
    first = np.array(
        [
            [arrange(cells, "interleaved", seed, k)[0].id == "a" for k in range(n)]
            for seed in range(trials)
        ]
    )
    slots = sticking(rng, trials, 2 * n, 1.0)
    early, late = slots[:, ::2], slots[:, 1::2]
    one, other = np.where(first, early, late), np.where(first, late, early)
    hits = sum(_holds(paired_ratio(a, b), 1.0) for a, b in zip(one, other, strict=True))
    return _share(f"coverage.paired.state-of-machine-sticks.{n}", hits, trials, (0.93, 1.0))


def _warned(name: str, ratios: list[Ratio], least: float | None) -> list[Figure]:
    wrong = [ratio for ratio in ratios if not _holds(ratio, 1.0)]
    warned = sum(any(w.code == "autocorrelated" for w in ratio.warnings) for ratio in wrong)
    target = None if least is None else (least, 1.0)
    return [
        _share(f"wrong-intervals.{name}", len(wrong), len(ratios), None),
        _share(f"of-these-warned.{name}", warned, len(wrong), target),
    ]


def _small_p(
    kind: str, shape: Shape, rng: np.random.Generator, count: int, n: int
) -> dict[int, Ratio]:
    """Compare `count` pairs of equal samples; return those whose p value may lead to a claim."""
    kept: dict[int, Ratio] = {}
    chunk = 20_000
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        a, b = shape(rng, size, n, 1.0), shape(rng, size, n, 1.0)
        small = _screen_paired(a, b) if kind == "paired" else _screen_unpaired(a, b)
        found = _compared(kind, a[small], b[small])
        for i, ratio in zip(np.flatnonzero(small), found, strict=True):
            if ratio.p_value is not None and ratio.p_value <= SCREEN:
                kept[start + int(i)] = ratio
    return kept


def _screen_paired(a: Array, b: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Select pairs whose p value by the biweight is small or undefined; later steps raise it."""
    centre, error, _, _ = biweight(np.log(a) - np.log(b))
    limit = critical("biweight", a.shape[1], 1 - SCREEN)
    small: np.ndarray[tuple[int], np.dtype[np.bool_]]
    small = ~(np.abs(centre) <= limit * error)
    return small


def _screen_unpaired(a: Array, b: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    n = a.shape[1]
    ranks = np.argsort(np.argsort(np.concatenate([a, b], axis=1), axis=1), axis=1)
    u = ranks[:, :n].sum(axis=1) - n * (n - 1) / 2
    small: np.ndarray[tuple[int], np.dtype[np.bool_]]
    small = np.abs(u - n * n / 2) >= 2.0 * np.sqrt(n * n * (2 * n + 1) / 12)
    return small


def _claims(size: int, ratios: list[Ratio]) -> bool:
    """Whether a family of `size` comparisons claims a difference; those left out claim none."""
    if not ratios:
        return False
    found = [1.0 if ratio.p_value is None else ratio.p_value for ratio in ratios]
    adjusted = holm([*found, *[1.0] * (size - len(found))])
    rule = Rule()
    return any(
        decide(ratio, rule, p_adjusted=p).outcome in CLAIMS
        for ratio, p in zip(ratios, adjusted, strict=False)
    )


def _ratios(
    kind: str, shape: Shape, rng: np.random.Generator, trials: int, n: int, *, factor: float
) -> Iterator[Ratio]:
    """Compare in that many trials; the baseline's durations are drawn without the factor."""
    above, below = (shape(rng, trials, n, each) for each in (factor, 1.0))
    return _compared(kind, above, below)


def _compared(kind: str, above: Array, below: Array) -> Iterator[Ratio]:
    """Compare each row as the functions of `KINDS` do, with all biweights computed at once."""
    above, below = np.log(above), np.log(below)
    if kind == "unpaired":
        return map(typical_of_samples, above, below)
    return map(typical_of_pairs, above, below, locate_rows(above - below))


def _pairs(
    shape: Shape, rng: np.random.Generator, trials: int, n: int, factor: float
) -> Iterator[tuple[Array, Array]]:
    return zip(shape(rng, trials, n, factor), shape(rng, trials, n, 1.0), strict=True)


def _holds(ratio: Ratio, truth: float) -> bool:
    """True if the interval contains the truth; without an interval, nothing is excluded."""
    return ratio.interval is None or ratio.interval.contains(truth)


def _trials(options: BenchOptions) -> int:
    return QUICK_TRIALS if options.quick else TRIALS


def _random(options: BenchOptions, *names: object) -> np.random.Generator:
    text = "/".join(map(str, names))
    return np.random.default_rng([options.seed, *text.encode()])


def _share(
    name: str, count: int, trials: int, target: tuple[float, float] | None, *, slack: bool = False
) -> Figure:
    """Return a share in percent; its interval is two standard errors to each side."""
    value = count / trials if trials else None
    error = 0.0 if value is None else 2 * float(np.sqrt(value * (1 - value) / max(trials, 1)))
    reach = error if slack else 0.0
    holds = None
    words = ""
    if target is not None and value is not None:
        holds = target[0] - reach <= value <= target[1]
        words = f"{100 * target[0]:g} to {100 * target[1]:g} %"
    return Figure(
        name=name,
        value=None if value is None else 100 * value,
        unit="%",
        n=trials,
        interval=None if value is None else (100 * (value - error), 100 * (value + error)),
        target=words,
        holds=holds,
    )
