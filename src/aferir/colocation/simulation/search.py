"""Search for parameters of the policy `aferir` for a machine and a service, on simulated time.

Candidates form a Latin hypercube over the ranges (McKay, Beckman and Conover 1979). All of them are
tried on every scenario, the best on more and more requests (successive halving: Jamieson and
Talwalkar 2016), and the last one is compared with the defaults on requests not used for the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import msgspec
from msgspec.structs import replace
from scipy.stats import binomtest, qmc

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.parameters import Parameters, parameters, ranges
from aferir.colocation.simulation import trial
from aferir.colocation.simulation.trial import Scenario
from aferir.statistics.ratio import Ratio, paired_ratio

SEARCHED = (
    "near",
    "caution",
    "shrink",
    "grow_per_s",
    "least_share",
    "patience_s",
    "hold_s",
    "headroom",
)
"""Parameters that are searched by default: those with the largest effects in the model, which does
not include how other processes are served.
"""
_WIDE = 10.0
"""A range is searched logarithmically if its upper bound is more than this multiple of its lower
one."""
_KEPT = 4
"""Each round keeps one candidate in this many: the best quarter."""
_SEEDS = 2
"""Seeds per candidate in the first round; the number doubles in each later one."""
_FRESH_SEEDS = 8
"""Seeds for the comparison of the last candidate with the defaults."""
_LEVEL = 0.05
_LEAST_SHARE = 1e-6
_STEEP = 3.0
"""Ratio of the higher to the lower load in the scenarios with a step."""


class Trial(msgspec.Struct, frozen=True):
    """One run of the model: scenario, parameters and seed."""

    scenario: Scenario
    parameters: Parameters
    seed: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a run that decide between candidates."""

    meets: bool
    quantile_s: float
    """Latency quantile in seconds; infinite if there were too few responses."""
    batch_share: float
    system_worst_s: float


Run = Callable[[Sequence[Trial]], Iterable[Result]]
"""Carries out trials in any order, anywhere, and returns the results in order of the trials."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The last candidate and the defaults in one scenario, on requests not used for the search."""

    scenario: str
    ours: tuple[Result, ...]
    defaults: tuple[Result, ...]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search: parameters, and their comparison with the defaults."""

    parameters: Parameters
    """The last candidate if it meets the service level more often than the defaults (McNemar's
    exact test) or, meeting it as often, lets the batch do more work, with 95 % confidence; else the
    defaults."""
    candidate: Parameters
    """The candidate that remained after the last round."""
    beside: tuple[Compared, ...]
    batch: Ratio
    """Ratio of the batch work of the last candidate to that of the defaults."""
    kept_alone: int
    """Compared trials in which only the last candidate met the service level."""
    kept_by_defaults_alone: int
    """Compared trials in which only the defaults met the service level."""


def scenarios(base: Scenario) -> dict[str, Scenario]:
    """Scenarios for every policy: the load as given, in bursts, with a heavy tail, and in steps."""
    usual = base.load
    high = min(max(share for _, share in usual.steps), 0.9)
    middle_s = (base.warm_up_s + base.duration_s) / 2
    kinds = {
        "as given": usual,
        "bursts": replace(usual, arrivals="bursts"),
        "heavy tail": replace(usual, needs="pareto"),
        "step up": replace(usual, steps=((0.0, high / _STEEP), (middle_s, high))),
        "step down": replace(usual, steps=((0.0, high), (middle_s, high / _STEEP))),
    }
    return {name: replace(base, load=load) for name, load in kinds.items()}


def candidates(count: int, names: Sequence[str], seed: int) -> list[Parameters]:
    """Parameter sets to try, `count` in number; the first one is the defaults.

    Errors: ValueError if a name is not that of a real-valued parameter.
    """
    known = ranges()
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"`{unknown[0]}` is none of {', '.join(known)}")
    hypercube = qmc.LatinHypercube(d=len(names), rng=seed).random(max(count - 1, 0))
    return [Parameters(), *(_made(names, point, known) for point in hypercube.tolist())]


def rounds(count: int) -> Iterator[tuple[int, int]]:
    """Number of candidates and of seeds in each round; the first has `count` candidates."""
    seeds = _SEEDS
    while count > 1:
        yield count, seeds
        count, seeds = max(1, count // _KEPT), 2 * seeds
    yield 2, _FRESH_SEEDS


def search(base: Scenario, tried: Sequence[Parameters], seed: int, run: Run) -> Found:
    """Search for the best of the candidates, the first of which are the defaults."""
    named = scenarios(base)
    *choosing, (_, fresh) = rounds(len(tried))
    left = list(tried)
    for _, count in choosing:
        left = _best(left, list(named.values()), _seeds(seed, count), run)
        seed += count
    return _found(left[0], tuple(_beside(left[0], named, _seeds(seed, fresh), run)))


def carried_out(one: Trial) -> Result:
    """Run the model for one trial."""
    outcome = trial.run(one.scenario, aferir(one.parameters), one.seed)
    return Result(
        meets=outcome.meets(one.scenario.sla),
        quantile_s=outcome.latency.quantile_s if outcome.latency else math.inf,
        batch_share=outcome.batch_share,
        system_worst_s=outcome.system_worst_s,
    )


def _best(
    left: Sequence[Parameters], named: Sequence[Scenario], seeds: Sequence[int], run: Run
) -> list[Parameters]:
    """Return the best 1/`_KEPT` of the candidates, at least one.

    They are ranked by the number of service levels met, then by batch work.
    All candidates get the same requests.
    """
    trials = [Trial(scenario, one, seed) for one in left for scenario in named for seed in seeds]
    results = list(run(trials))
    each = len(named) * len(seeds)
    scores = [_score(results[k * each : (k + 1) * each]) for k in range(len(left))]
    order = sorted(range(len(left)), key=lambda k: scores[k], reverse=True)
    return [left[k] for k in order[: max(1, len(left) // _KEPT)]]


def _score(results: Sequence[Result]) -> tuple[int, float]:
    return sum(one.meets for one in results), fmean(one.batch_share for one in results)


def _beside(
    last: Parameters, named: Mapping[str, Scenario], seeds: Sequence[int], run: Run
) -> Iterator[Compared]:
    both = (last, Parameters())
    trials = [Trial(one, own, seed) for one in named.values() for own in both for seed in seeds]
    results, each = list(run(trials)), len(seeds)
    for place, name in enumerate(named):
        at = 2 * place * each
        ours, defaults = results[at : at + each], results[at + each : at + 2 * each]
        yield Compared(scenario=name, ours=tuple(ours), defaults=tuple(defaults))


def _found(last: Parameters, beside: tuple[Compared, ...]) -> Found:
    ours = [one for compared in beside for one in compared.ours]
    defaults = [one for compared in beside for one in compared.defaults]
    batch = paired_ratio(*([max(r.batch_share, _LEAST_SHARE) for r in a] for a in (ours, defaults)))
    more = sum(a.meets > b.meets for a, b in zip(ours, defaults, strict=True))
    fewer = sum(a.meets < b.meets for a, b in zip(ours, defaults, strict=True))
    kept_more = more > fewer and binomtest(more, more + fewer).pvalue <= _LEVEL
    gains = batch.interval is not None and batch.interval.low > 1
    return Found(
        parameters=last if kept_more or (more >= fewer and gains) else Parameters(),
        candidate=last,
        beside=beside,
        batch=batch,
        kept_alone=more,
        kept_by_defaults_alone=fewer,
    )


def _made(
    names: Sequence[str], point: Sequence[float], known: Mapping[str, tuple[float, float]]
) -> Parameters:
    """The parameters at a point in the unit cube; `near` is limited to `caution`."""
    values = {
        name: float(f"{_scaled(x, *known[name]):.3g}") for name, x in zip(names, point, strict=True)
    }
    both = {"caution": Parameters().caution, "near": Parameters().near} | values
    return parameters(values | {"near": min(both["near"], both["caution"])})


def _scaled(x: float, least: float, most: float) -> float:
    if least > 0 and most / least > _WIDE:
        return float(least * (most / least) ** x)
    return float(least + (most - least) * x)


def _seeds(last: int, count: int) -> list[int]:
    """The seeds after `last`, so that no requests are used twice."""
    return [last + 1 + k for k in range(count)]
