"""Cost of one run in money, by the price of an hour on its host."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.measuring.energy import PER_SECOND
from aferir.model.host import Price
from aferir.model.record import Sample

_PREFIX = "cost_"
_HOUR_S = 3600.0


def is_one(sample: Sample) -> bool:
    """Whether the sample is the cost of a run."""
    return sample.metric.startswith(_PREFIX)


def samples(price: Price | None, duration_s: float) -> tuple[Sample, ...]:
    """Cost of a run that took `duration_s`; none without a price."""
    if price is None:
        return ()
    metric = f"{_PREFIX}{price.currency.lower()}"
    return (Sample(metric, price.amount * duration_s / _HOUR_S, price.currency, "host"),)


def per_unit(
    figures: Sequence[Sample], observed: Sequence[Sample], duration_s: float
) -> tuple[Sample, ...]:
    """Cost of each unit of work of the first rate that the program reports, e.g. EUR/B.

    The rate is of the program's measured part, so that price over rate is used and not the cost of
    the whole run, as `energy.per_unit` does.
    """
    paid = next((one for one in observed if is_one(one)), None)
    rate = next((one for one in figures if one.unit.endswith(PER_SECOND) and one.value > 0), None)
    if paid is None or rate is None or duration_s <= 0.0:
        return ()
    metric = f"{_PREFIX}per_unit_{paid.unit.lower()}"
    unit = f"{paid.unit}/{rate.unit.removesuffix(PER_SECOND)}"
    return (Sample(metric, paid.value / duration_s / rate.value, unit, "host"),)
