"""Attributes the cost in a designed experiment to its causes. Pure.

All arithmetic is on logarithms, where costs that multiply add up; results are shares of the
baseline's value: each part of the logarithm is multiplied by the logarithmic mean of 1 and the
whole ratio, so that the shares add up exactly (Ang 2004, the additive form of LMDI).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from aferir.model.design import Design
from aferir.model.plan import Plan
from aferir.model.record import Record, Sample
from aferir.report.causes import DURATION, Cause, Explanation, Interaction
from aferir.statistics.arrays import Array
from aferir.statistics.contrasts import LEAST_ROUNDS, METHOD, Arms, contrast, locate_arms
from aferir.statistics.factorial import Run, alias_chains, main_weights, pair_weights
from aferir.statistics.intervals import Interval
from aferir.statistics.verdict import Rule

CLAIM_ALPHA = 0.001
"""Largest adjusted p value of a claimed cause: among a hundred environments without cost, hardly
any has a claimed cause.
"""


class Explained(msgspec.Struct, frozen=True):
    """Explanations that a designed experiment yields, and groups without one."""

    explanations: tuple[Explanation, ...] = ()
    missing: tuple[str, ...] = ()
    """One sentence for each group that cannot be explained."""


def explain(plan: Plan, records: Sequence[Record], rule: Rule | None = None) -> Explained:
    """Explain the causes of costs for each group; the result is empty if the plan has no design."""
    if plan.design is None:
        return Explained()
    found: list[Explanation] = []
    missing: list[str] = []
    for group in dict.fromkeys(cell.group for cell in plan.cells):
        own = [one for one in records if one.group == group and not one.warmup]
        one = _of_group(plan.design, group, plan.metric or DURATION, own, rule or Rule())
        if isinstance(one, str):
            missing.append(one)
        else:
            found.append(one)
    return Explained(tuple(found), tuple(missing))


def suspects(explained: Explanation) -> tuple[str, ...]:
    """Claimed causes in a significant interaction that several pairs may explain (aliases)."""
    mixed = [one for one in explained.interactions if one.claimed and len(one.pairs) > 1]
    names = {name for one in mixed for pair in one.pairs for name in pair}
    return tuple(cause.name for cause in explained.claimed if cause.name in names)


def _of_group(
    design: Design, group: str, metric: str, records: Sequence[Record], rule: Rule
) -> Explanation | str:
    names = [*design.baselines, *(arm.environment for arm in design.arms)]
    samples = _samples(records, metric)
    arms = locate_arms(_logs(names, samples))
    if arms is None:
        least = min(names, key=lambda name: len(samples.get(name, {})))
        count = len(samples.get(least, {}))
        return (
            f"{design.environment} on {group} is not explained: {least} has {count} "
            f"repetitions with {metric}, and {LEAST_ROUNDS} are needed."
        )
    weigh = _Weights(design)
    total = contrast(arms, weigh.total())
    log_share = _Shares(arms, weigh.total(), rule.level)
    causes = [
        _cause(design, factor, log_share, weigh, rule) for factor in range(len(design.varied))
    ]
    rest = log_share.of(weigh.rest())[1]
    interval = total.interval(rule.level)
    return Explanation(
        environment=design.environment,
        baseline=design.baselines[0],
        group=group,
        metric=metric,
        higher=any(s.better == "higher" for values in samples.values() for s in values.values()),
        emulated=any(w.code == "emulated" for one in records for w in one.warnings),
        rounds=arms.rounds,
        total=math.expm1(total.estimate),
        total_interval=Interval(
            math.expm1(interval.low), math.expm1(interval.high), rule.level, METHOD
        ),
        causes=tuple(sorted(causes, key=lambda cause: (not cause.claimed, -abs(cause.effect)))),
        rest_interval=rest,
        interactions=_interactions(design, log_share, weigh, rule),
        kept=design.kept,
    )


def _samples(records: Sequence[Record], metric: str) -> dict[str, dict[int, Sample]]:
    """Program samples of the metric, by environment and repetition."""
    found: dict[str, dict[int, Sample]] = {}
    for record in records:
        for sample in record.samples if record.failure is None else ():
            if sample.metric == metric and sample.side == "program" and sample.value > 0:
                found.setdefault(record.environment, {})[record.repetition] = sample
    return found


def _logs(names: Sequence[str], samples: Mapping[str, Mapping[int, Sample]]) -> Array:
    """Logarithms, arms x rounds; negated if higher values are better."""
    rounds = sorted({number for values in samples.values() for number in values})
    logs = np.full((len(names), len(rounds)), np.nan)
    for row, name in enumerate(names):
        for column, number in enumerate(rounds):
            sample = samples.get(name, {}).get(number)
            if sample is not None:
                sign = -1.0 if sample.better == "higher" else 1.0
                logs[row, column] = sign * math.log(sample.value)
    return logs


class _Weights:
    """Weights of all arms, baselines first, for each contrast."""

    def __init__(self, design: Design) -> None:
        self._baselines = len(design.baselines)
        self._levels = [arm.levels for arm in design.arms]
        self.runs: tuple[Run, ...] = tuple(dict.fromkeys(self._levels))

    def total(self) -> Array:
        """Weights of the whole environment over the baseline."""
        whole = [run == (1,) * len(run) for run in self.runs]
        weights = self._spread(np.array(whole, dtype=np.float64))
        weights[: self._baselines] = -1.0 / self._baselines
        return weights

    def main(self, factor: int) -> Array:
        """Weights of the main effect of one feature."""
        return self._spread(main_weights(self.runs, factor))

    def pair(self, pair: tuple[int, int]) -> Array:
        """Weights of the interaction of two features."""
        return self._spread(pair_weights(self.runs, pair))

    def rest(self) -> Array:
        """Weights of the cost that no feature explains."""
        causes: Array = sum((self.main(k) for k in range(len(self.runs[0]))), self.total() * 0)
        return self.total() - causes

    def _spread(self, of_runs: Array) -> Array:
        """Convert weights of runs to weights of arms; arms of one run share its weight equally."""
        each = dict(zip(self.runs, of_runs.tolist(), strict=True))
        own = [each[levels] / self._levels.count(levels) for levels in self._levels]
        return np.array([0.0] * self._baselines + own)


class _Shares:
    """Converts parts of a logarithm to shares of the baseline's value."""

    def __init__(self, arms: Arms, total: Array, level: float) -> None:
        self.arms = arms
        self._total, self._level = total, level
        whole = contrast(arms, total).estimate
        small = abs(whole) < 1e-4
        self._scale = 1 + whole / 2 if small else math.expm1(whole) / whole
        self._slope = 0.5 + whole / 3 if small else (math.exp(whole) - self._scale) / whole

    def of(self, weights: Array, family: int = 1) -> tuple[float, Interval]:
        """Share and its interval, which includes the uncertainty of the whole ratio."""
        part = contrast(self.arms, weights).estimate
        share = self._scale * part
        spread = contrast(self.arms, self._scale * weights + self._slope * part * self._total)
        half = spread.half_width(self._level, family)
        return share, Interval(share - half, share + half, self._level, METHOD)


def _cause(design: Design, factor: int, shares: _Shares, weigh: _Weights, rule: Rule) -> Cause:
    family = len(design.varied)
    varied = design.varied[factor]
    effect, interval = shares.of(weigh.main(factor), family)
    p_value = contrast(shares.arms, weigh.main(factor)).p_value(family)
    return Cause(
        name=varied.name,
        effect=effect,
        interval=interval,
        p_value=p_value,
        claimed=p_value <= CLAIM_ALPHA and abs(effect) >= rule.threshold,
        remedy=varied.remedy,
        gives_up=varied.gives_up,
    )


def _interactions(
    design: Design, shares: _Shares, weigh: _Weights, rule: Rule
) -> tuple[Interaction, ...]:
    if len(design.varied) < 2:
        return ()
    chains = alias_chains(weigh.runs)
    found = []
    for chain in chains:
        weights = weigh.pair(chain[0])
        effect, interval = shares.of(weights, len(chains))
        p_value = contrast(shares.arms, weights).p_value(len(chains))
        found.append(
            Interaction(
                pairs=tuple((design.varied[a].name, design.varied[b].name) for a, b in chain),
                effect=effect,
                interval=interval,
                claimed=p_value <= CLAIM_ALPHA and abs(effect) >= rule.threshold,
            )
        )
    return tuple(found)
