"""The cost of an environment as a sum of causes, and sentences about it.

Effects are shares of the baseline's value, so that they add up: 0.05 is 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from aferir.model.design import Kept
from aferir.report.formatting import labelled, listing, metric_name, percent
from aferir.statistics.intervals import Interval

UNEXPLAINED = "unexplained"
DURATION = "duration_s"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One feature of an environment as a cause of cost."""

    name: str
    """Name that completes the words "... comes from the", e.g. `CPU quota`."""
    effect: float
    """Cost as a share of the baseline's value; negative if it saves."""
    interval: Interval | None = None
    """Interval of the effect, whose level holds for all causes together; None if there is none."""
    p_value: float | None = None
    """P value of the hypothesis that the cause costs nothing, adjusted for the number of causes."""
    claimed: bool = True
    """True if the effect is significant and large enough to matter."""
    remedy: str = ""
    gives_up: str = ""


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of two causes together beyond the sum of what each costs alone."""

    pairs: tuple[tuple[str, str], ...]
    """Pairs of causes; several if the arms of the run cannot separate them (aliases)."""
    effect: float
    interval: Interval
    claimed: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Causes of the cost in one comparison, and the part that they do not explain."""

    environment: str
    baseline: str
    group: str
    metric: str = DURATION
    higher: bool = False
    """True if higher values of the metric are better, so that a cost is a decrease."""
    emulated: bool = False
    rounds: int = 0
    total: float
    """Measured total cost as a share of the baseline's value; negative if it saves."""
    total_interval: Interval | None = None
    causes: tuple[Cause, ...]
    """Causes in the order in which they are shown."""
    rest_interval: Interval | None = None
    """Interval of the part that no cause explains."""
    interactions: tuple[Interaction, ...] = ()
    kept: tuple[Kept, ...] = ()
    """Features that were not varied, and why."""

    @property
    def rest(self) -> float:
        """Total cost less the sum of the causes."""
        return self.total - math.fsum(cause.effect for cause in self.causes)

    @property
    def claimed(self) -> tuple[Cause, ...]:
        """Causes that are claimed, the largest first."""
        found = [cause for cause in self.causes if cause.claimed]
        return tuple(sorted(found, key=lambda cause: -abs(cause.effect)))


def sentence(explained: Explanation) -> str:
    """Sentence with the total, the claimed causes from the largest on, and the rest."""
    e = explained
    of = "" if e.metric == DURATION else f" of {metric_name(e.metric)}"
    name = labelled(e.environment, e.emulated)
    whole = f"{name} costs {_share(e.total, e.total_interval)}{of} on {e.group} against"
    whole += f" {e.baseline}"
    if not e.causes:
        return f"{whole}; no cause is known."
    said = [f"{cause.name} {_share(cause.effect, cause.interval)}" for cause in e.claimed]
    others = [cause for cause in e.causes if not cause.claimed]
    if not said:
        return f"{whole}; no cause is sure: {_nothing(others)}."
    if others:
        together = percent(math.fsum(cause.effect for cause in others), sign=True)
        names = f"{len(others)} others, none of them sure, together"
        names = f"{others[0].name}, which is not sure," if len(others) == 1 else names
        said.append(f"{names} {together}")
    said.append(f"{UNEXPLAINED} {_share(e.rest, e.rest_interval)}")
    return f"{whole}: {', '.join(said)}."


def advice(explained: Explanation) -> tuple[str, ...]:
    """Sentences about each claimed cause, each claimed interaction, and features not varied."""
    said = [
        f"{_capital(cause.name)} ({percent(cause.effect, sign=True)}): {cause.remedy}; this gives "
        f"up {cause.gives_up}."
        for cause in explained.claimed
        if cause.remedy and cause.effect > 0
    ]
    said += [_together(one) for one in explained.interactions if one.claimed]
    for why in dict.fromkeys(one.why for one in explained.kept):
        names = [one.name for one in explained.kept if one.why == why]
        verb = "was" if len(names) == 1 else "were"
        said.append(f"{_capital(listing(names))} {verb} not taken away: {why}.")
    return tuple(said)


def ends_of(interval: Interval) -> str:
    """Ends of an interval in percent: `[+1.2, +3.4]`."""
    low, high = (
        percent(end, sign=True).removesuffix(" %") for end in (interval.low, interval.high)
    )
    return f"[{low}, {high}]"


def pair_names(pairs: Sequence[tuple[str, str]]) -> str:
    """`overlay with network`; aliased pairs are joined by `, or `."""
    return ", or ".join(f"{one} with {other}" for one, other in pairs)


def _together(one: Interaction) -> str:
    more = "more" if one.effect > 0 else "less"
    both = f"cost {percent(abs(one.effect))} {ends_of(one.interval)} {more} together than alone"
    if len(one.pairs) == 1:
        return f"{_capital(one.pairs[0][0])} and {one.pairs[0][1]} {both}."
    return f"One of these pairs {both.replace('cost', 'costs', 1)}: {pair_names(one.pairs)}."


def _nothing(causes: Sequence[Cause]) -> str:
    """`... costs at most 1.2 %`: largest amount that the intervals of the causes permit."""
    ends = [max(abs(c.interval.low), abs(c.interval.high)) for c in causes if c.interval]
    names = listing([cause.name for cause in causes])
    if not ends:
        return names
    verb = "costs or saves" if len(causes) == 1 else "each cost or save"
    return f"{names} {verb} at most {percent(max(ends))}"


def _share(value: float, interval: Interval | None) -> str:
    return percent(value, sign=True) + (f" {ends_of(interval)}" if interval is not None else "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
