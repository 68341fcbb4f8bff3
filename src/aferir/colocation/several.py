"""Joins the states of several services with an SLA each into one, by the service worst off.

One batch program runs beside all of them, so one policy decides, and it must satisfy the service
whose SLA is tightest at that moment. If the batch is cut on behalf of one service, the others
neither gain nor lose by it, as they are below their SLAs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.colocation.settings import ServiceState


def worst_off(services: Sequence[ServiceState]) -> ServiceState:
    """Return the service whose latency is largest in proportion to its SLA's bound.

    Services that certainly violate their SLA (lower end of the interval above the bound) come
    first, and those of which nothing is known last. Errors: ValueError if there is no service.
    """
    return max(services, key=_urgency)


def _urgency(one: ServiceState) -> tuple[bool, float]:
    if one.latency is None:
        return False, -1.0
    return one.latency.low_s > one.sla.bound_s, one.latency.quantile_s / one.sla.bound_s


def together(services: Sequence[ServiceState]) -> ServiceState:
    """Return one state for all services; the state of a single service is returned unchanged.

    Latency, SLA, rate, silence and waits are those of the service that is worst off. CPU use,
    memory and critical threads are those of all services. The occupied share is that of the fullest
    pool, and the number of CPUs that of the most confined service. Errors: ValueError if there is
    no service.
    """
    worst = worst_off(services)
    if len(services) == 1:
        return worst
    return msgspec.structs.replace(
        worst,
        threads=tuple(thread for one in services for thread in one.threads),
        occupied=max(one.occupied for one in services),
        service_cpus=sum(one.service_cpus for one in services),
        service_cores=min((one.service_cores for one in services if one.service_cores), default=0),
        service_memory_bytes=sum(one.service_memory_bytes for one in services),
    )
