"""Figures of several services beside one batch program: each one's quantile over its own bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from aferir.colocation import evaluation
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.model.record import Sample, Series

Named = tuple[str, Sla]
"""Name and SLA of a service, in the order of `Arm.loads`."""


def series(services: Sequence[Named], arms: Sequence[Arm]) -> Iterator[Series]:
    """Quantile over the bound of each service by policy, and distributions of further services.

    The first service's distributions are figures of every workload. A policy under which a service
    gave too few responses is left out of that service's series.
    """
    for place, (name, sla) in enumerate(services):
        found = _of_bound(place, sla, arms)
        yield Series(
            metric="quantile_of_sla",
            unit="1",
            values=tuple(found.values()),
            along="policy",
            at=tuple(found),
            label=name,
        )
        for arm in arms if place else ():
            if made := evaluation.distribution(arm.loads[place].latencies(), arm.policy):
                yield msgspec.structs.replace(made, metric=f"{name}_latency_s")


def samples(
    services: Sequence[Named], arms: Sequence[Arm], rates: Sequence[float]
) -> Iterator[Sample]:
    """Rates of the further services, and how near the policy `aferir` brings the worst one.

    `rates`: requests per second. The latter is the largest quantile over its bound; it is left out
    if the policy is no arm, or if a service gave too few responses.
    """
    for (name, _), rate in zip(services[1:], rates, strict=True):
        yield Sample(f"{name}_requests_per_s", rate, "1/s")
    ours = [_of_bound(place, sla, arms).get("aferir") for place, (_, sla) in enumerate(services)]
    known = [one for one in ours if one is not None]
    if len(known) == len(services):
        yield Sample("aferir_worst_of_sla", max(known), "1")


def _of_bound(place: int, sla: Sla, arms: Sequence[Arm]) -> dict[str, float]:
    """Quantile over the bound of the service at that place, by policy."""
    return {
        arm.policy: found.quantile_s / sla.bound_s
        for arm in arms
        if (found := arm.loads[place].latency(sla)) is not None
    }
