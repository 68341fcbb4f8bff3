"""Best and worst repetition of a cell, by the experiment's metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from aferir.model.record import Record, Sample, Series

Extreme = Literal["best", "worst"]


class Repeated(msgspec.Struct, frozen=True):
    """A series together with the repetition that it belongs to."""

    series: Series
    judged: Sample | None
    """Sample of the experiment's metric in the repetition; None if the experiment names no metric,
    or the program does not declare which direction is better.
    """


def judged(record: Record, metric: str) -> Sample | None:
    """Sample of the metric, if the program declares which direction is better; None otherwise."""
    for sample in record.samples:
        if sample.metric == metric and sample.better:
            return sample
    return None


def extremes(repeated: Sequence[Repeated]) -> dict[Extreme, Repeated] | None:
    """Best and worst repetition, the first of equals; None if any repetition cannot be judged."""
    known = [(one.judged, one) for one in repeated if one.judged is not None]
    if not known or len(known) < len(repeated):
        return None
    lower = known[0][0].better == "lower"
    least = min(known, key=lambda pair: pair[0].value)[1]
    most = max(known, key=lambda pair: pair[0].value)[1]
    return {"best": least, "worst": most} if lower else {"best": most, "worst": least}
