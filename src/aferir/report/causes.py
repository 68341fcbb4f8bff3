"""What an environment costs as a sum of causes, and the sentences that say it.

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
    """One thing that an environment does to a program."""

    name: str
    """Its name in words that finish "... comes from the": `CPU quota`."""
    effect: float
    """Share of the baseline's value; negative where it saves."""
    interval: Interval | None = None
    """Interval of the effect, on the same scale, for all causes together; None where there is
    none."""
    p_value: float | None = None
    """That it costs nothing, adjusted for the number of causes."""
    claimed: bool = True
    """Whether it surely costs or saves anything that matters."""
    remedy: str = ""
    gives_up: str = ""


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """What two causes cost together beyond what each costs alone; all that are looked at."""

    pairs: tuple[tuple[str, str], ...]
    """Several where the arms of the run cannot tell them apart."""
    effect: float
    interval: Interval
    claimed: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one comparison."""

    environment: str
    baseline: str
    group: str
    metric: str = DURATION
    higher: bool = False
    """The metric is better the higher it is: a cost is what the baseline has more of."""
    emulated: bool = False
    rounds: int = 0
    total: float
    """Measured: share of the baseline's value that the environment takes more (or less)."""
    total_interval: Interval | None = None
    causes: tuple[Cause, ...]
    """Causes in the order in which they are to be shown."""
    rest_interval: Interval | None = None
    """Interval of the rest that no cause explains."""
    interactions: tuple[Interaction, ...] = ()
    kept: tuple[Kept, ...] = ()
    """Features that were not varied, and why."""

    @property
    def rest(self) -> float:
        """What the causes do not add up to."""
        return self.total - math.fsum(cause.effect for cause in self.causes)

    @property
    def claimed(self) -> tuple[Cause, ...]:
        """Causes that surely cost or save something, the largest first."""
        found = [cause for cause in self.causes if cause.claimed]
        return tuple(sorted(found, key=lambda cause: -abs(cause.effect)))


def sentence(explained: Explanation) -> str:
    """The whole, the causes that are sure with the largest first, and what is left."""
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
    """A sentence for each cause that surely costs, interaction that is sure, and what was kept."""
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
    """`[+1.2, +3.4]`, in percent."""
    low, high = (
        percent(end, sign=True).removesuffix(" %") for end in (interval.low, interval.high)
    )
    return f"[{low}, {high}]"


def pair_names(pairs: Sequence[tuple[str, str]]) -> str:
    """`overlay with network`; several of which it is one: `..., or ...`."""
    return ", or ".join(f"{one} with {other}" for one, other in pairs)


def _together(one: Interaction) -> str:
    more = "more" if one.effect > 0 else "less"
    both = f"cost {percent(abs(one.effect))} {ends_of(one.interval)} {more} together than alone"
    if len(one.pairs) == 1:
        return f"{_capital(one.pairs[0][0])} and {one.pairs[0][1]} {both}."
    return f"One of these pairs {both.replace('cost', 'costs', 1)}: {pair_names(one.pairs)}."


def _nothing(causes: Sequence[Cause]) -> str:
    """What each may cost at most, as its interval has it."""
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
