"""Merges the figures of programs that ran concurrently as tenants of one environment. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from aferir.model.record import Sample, Series, Warning

ALONG = "tenant"

Figures = Sequence[Sample | Series | Warning]


def together(tenants: Sequence[Figures]) -> Figures:
    """Mean of each figure over the tenants, followed by a series of the tenants' own values.

    Figures of a single tenant are returned unchanged. A figure that any tenant lacks is left out.
    """
    if len(tenants) == 1:
        return tenants[0]
    found: list[Sample | Series | Warning] = []
    for figure in tenants[0]:
        if isinstance(figure, Sample):
            own = [_same(figure, others) for others in tenants]
            values = tuple(value for value in own if value is not None)
            if len(values) == len(tenants):
                found += [msgspec.structs.replace(figure, value=fmean(values))]
                found += [_by_tenant(figure, values)]
    for number, figures in enumerate(tenants, start=1):
        found += [_labelled(f, number) for f in figures if isinstance(f, Series)]
    doubts = [f for figures in tenants for f in figures if isinstance(f, Warning)]
    return (*found, *dict.fromkeys(doubts))


def _same(figure: Sample, figures: Figures) -> float | None:
    for other in figures:
        if isinstance(other, Sample) and (other.metric, other.unit) == (figure.metric, figure.unit):
            return other.value
    return None


def _by_tenant(figure: Sample, values: tuple[float, ...]) -> Series:
    return Series(
        metric=figure.metric,
        unit=figure.unit,
        values=values,
        along=ALONG,
        at=tuple(f"tenant {number}" for number in range(1, len(values) + 1)),
    )


def _labelled(series: Series, number: int) -> Series:
    name = f"tenant {number}"
    label = f"{series.label}, {name}" if series.label else name
    return msgspec.structs.replace(series, label=label)
