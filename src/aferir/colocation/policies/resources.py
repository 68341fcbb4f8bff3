"""Limits the batch's memory or disks first, if the service waits for them.

A policy for processors is wrapped. While the service is near its SLA and waits for memory or disks
more than for processors (its own group's pressure), the batch's limit of that resource is cut, and
the processors are left as they are until the cut has had time to work. So one limit changes at a
time (PARTIES: Chen, Delimitrou and Martínez, ASPLOS 2019), and the one that the service lacks is
found by a measurement and not by trial (Heracles: Lo et al., ISCA 2015). Cuts are multiplicative
and raises additive, so that a harmful limit is not restored at once (Chiu and Jain 1989). If
weights have an effect on disks, the batch gets the lowest weight before its bytes per second are
limited, and where the kernel has io.latency, the disk requests of others get a target: neither
costs anything while the service leaves the disk idle.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from aferir.colocation.settings import Explanation, Lever, Policy, Settings, State

Resource = Literal["cpu", "memory", "disk"]

NEAR, FAR = 0.8, 0.5
"""Shares of the SLA above which a limit is cut, and below which it is raised."""
WAITS = 0.05
"""Smallest share of the time in which some task of the service waits for a resource that is
considered lacking.
"""
CUT, STEP = 0.5, 0.1
"""Factor by which a cut multiplies a limit; each raise adds this share of the use before the first
cut."""
SETTLES_S = 1.0
"""Seconds between two changes of one limit: two of the sensor's intervals."""
LEAST_WEIGHT = 1
"""Lowest weight of disk requests."""
TARGET = 0.1
"""Target for the latency of disk requests as a share of the SLA's bound: as long as one thread with
a reservation waits for its next period."""
_WORK_CONSERVING: frozenset[Lever] = frozenset({"disk_weight", "disk_target"})
"""Levers that limit the batch only while others use the disk."""
LEAST_BYTES = 2**20
"""Smallest limit that is set: of memory in bytes, of disks in B/s."""
_WHOLE_CACHE, _LEAST_CACHE = 100, 1
"""Part of the caches in percent before the first cut, and the smallest one: hardware rounds up."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """Limit of one resource of the batch."""

    most: int | None = None
    """Present limit; None: no limit."""
    first: int = 0
    """The batch's use before the first cut, in bytes, B/s or percent; each raise adds `STEP` of it.
    """
    moved_s: float = float("-inf")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the wrapped policy, its last settings, and the limits of the batch."""

    inner: Any
    settings: Settings = Settings()
    memory: Limit = Limit()
    weight: Limit = Limit()
    """Weight of the batch's disk requests: the lowest, or no limit. A target for the disk requests
    of others is set for the same time."""
    disk: Limit = Limit()
    cache: Limit = Limit()
    low_bytes: int | None = None
    """Bytes of the service's memory that are protected while the batch's memory is limited."""


def waited_for(state: State) -> Resource | None:
    """Return the resource that the service waits for most; None if it does not wait."""
    if state.waits is None:
        return None
    shares: dict[Resource, float] = {
        "cpu": state.waits.cpu,
        "memory": state.waits.memory,
        "disk": state.waits.disk,
    }
    most = max(shares, key=lambda name: shares[name])
    return most if shares[most] >= WAITS else None


def ratio_of(state: State) -> float | None:
    """Return the quantile divided by the SLA's bound.

    0 if the service has no requests; None if it does not answer because it waits for a resource.
    """
    if state.ratio is not None:
        return state.ratio
    return 0.0 if waited_for(state) is None else None


def moved(limit: Limit, state: State, used: int, *, cut: bool, least: int = LEAST_BYTES) -> Limit:
    """Return the limit after one decision, by which it is cut, raised or left unchanged.

    `least`: the smallest limit. An unlimited batch that uses no more is not cut: the service does
    not wait because of it.
    """
    ratio, blameless = ratio_of(state), limit.most is None and used <= least
    if ratio is None or blameless or state.time_s < limit.moved_s + SETTLES_S:
        return limit
    if cut and ratio > NEAR:
        base = used if limit.most is None else min(limit.most, used)
        most = max(least, int(CUT * base))
        if limit.most is not None and most >= limit.most:
            return limit
        first = limit.first if limit.most is not None else used
        return Limit(most=most, first=first, moved_s=state.time_s)
    if limit.most is None or cut or ratio >= FAR:
        return limit
    most = limit.most + max(1, int(STEP * limit.first))
    if most > limit.first:
        return Limit(moved_s=state.time_s)
    return Limit(most=most, first=limit.first, moved_s=state.time_s)


def weighed(before: Limit, disk: Limit, state: State, *, cut: bool) -> Limit:
    """Return the limit on the weight of disk requests; not lifted while `disk` is limited."""
    ratio, now_s = ratio_of(state), state.time_s
    if ratio is None:
        return before
    if cut:
        lowers = ratio > NEAR and before.most is None and state.batch_disk_bps > LEAST_BYTES
        return Limit(most=LEAST_WEIGHT, moved_s=now_s) if lowers else before
    settled = now_s >= max(before.moved_s, disk.moved_s) + SETTLES_S
    eased = settled and ratio < FAR and before.most is not None and disk.most is None
    return Limit(moved_s=now_s) if eased else before


def widened(policy: Policy[Any]) -> Policy[Memory]:
    """Return the policy, extended by limits of memory and disks; its limits of CPUs are kept."""

    def decide(state: State, before: Memory) -> tuple[Settings, Memory]:
        lacking = waited_for(state)
        lacks_memory = lacking == "memory" and "memory" in state.levers
        lacks_disk = lacking == "disk" and "disk" in state.levers
        memory = moved(before.memory, state, state.batch_memory_bytes, cut=lacks_memory)
        weighs = lacks_disk and bool(_WORK_CONSERVING & state.levers)
        weight = weighed(before.weight, before.disk, state, cut=weighs)
        disk = before.disk
        if not _settles(weight, state, weighs):
            disk = moved(disk, state, int(state.batch_disk_bps), cut=lacks_disk)
        cache = _cached(before.cache, state, lacking)
        inner, settings = before.inner, before.settings
        lacks = ((memory, lacks_memory), (weight, weighs), (disk, lacks_disk))
        if not any(_settles(limit, state, lack) for limit, lack in lacks):
            settings, inner = policy.decide(state, inner)
        since_s = memory.moved_s if lacks_memory else max(weight.moved_s, disk.moved_s)
        low = None if memory.most is None else before.low_bytes or state.service_memory_bytes
        made = msgspec.structs.replace(
            settings,
            batch=msgspec.structs.replace(
                settings.batch,
                memory_high_bytes=memory.most,
                disk_weight=weight.most if "disk_weight" in state.levers else None,
                disk_bps=disk.most,
                cache_percent=cache.most,
            ),
            service_memory_low_bytes=low,
            disk_target_s=_target_s(state) if weight.most is not None else None,
            explanation=_explained(settings.explanation, state, lacking, since_s),
        )
        after = Memory(
            inner=inner,
            settings=settings,
            memory=memory,
            weight=weight,
            disk=disk,
            cache=cache,
            low_bytes=low,
        )
        return made, after

    return Policy(Memory(inner=policy.begin), decide)


def _cached(before: Limit, state: State, lacking: Resource | None) -> Limit:
    """Return the limit of the batch's part of the caches.

    No counter tells that a service waits for a cache, so the limit is cut whenever the service does
    not wait for memory or disks, and the policy of processors decides beside it.
    """
    ratio = ratio_of(state)
    near = ratio is not None and ratio > NEAR and lacking not in ("memory", "disk")
    cut = near and "cache" in state.levers
    return moved(before, state, _WHOLE_CACHE, cut=cut, least=_LEAST_CACHE)


def _target_s(state: State) -> float | None:
    """Target in seconds for the service with the shortest bound; None if the kernel takes none."""
    if "disk_target" not in state.levers:
        return None
    return TARGET * min(one.sla.bound_s for one in state.each)


def _settles(limit: Limit, state: State, lacks: bool) -> bool:
    """Whether a lacking resource was cut so recently that the cut may still take effect."""
    return lacks and limit.most is not None and state.time_s < limit.moved_s + SETTLES_S


def _explained(
    inner: Explanation, state: State, lacking: Resource | None, since_s: float
) -> Explanation:
    """Explain a cut of memory or disks made at `since_s`, or else as the wrapped policy does."""
    if lacking is None or lacking not in state.levers or state.latency is None or since_s < 0:
        return inner
    if state.latency.quantile_s <= NEAR * state.sla.bound_s:
        return inner
    what = {"memory": "memory", "disk": "disks"}[lacking]
    why = f"the service waits for {what} more than for processors"
    return Explanation(mode=inner.mode, why=why, since_s=since_s)
