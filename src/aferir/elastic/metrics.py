"""Elasticity metrics of the SPEC Research Group: how well supply follows demand.

Herbst and others, "Ready for Rain? A View from SPEC Research on the Future of Cloud Metrics", SPEC
RG technical report 2016-01: accuracy and timeshare of under- and over-provisioning, jitter.
"""

from __future__ import annotations

import msgspec
import numpy as np


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The state after each event, which lasts until the next event.

    All fields have the same length.
    """

    times_s: tuple[float, ...]
    clients: tuple[int, ...]
    """Number of clients, served and waiting."""
    nodes: tuple[int, ...]
    """Number of ready Nodes."""


class Elasticity(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics of a trace. Demand: Nodes that the clients need; supply: Nodes that are ready."""

    under_accuracy: float
    """Mean number of missing Nodes, relative to the demand."""
    over_accuracy: float
    """Mean number of surplus Nodes, relative to the demand; times without demand do not count."""
    under_timeshare: float
    """Share of the time in which Nodes were missing."""
    over_timeshare: float
    """Share of the time in which there were surplus Nodes."""
    jitter: float
    """Changes of the supply minus changes of the demand, per second; may be negative."""
    node_seconds: float
    """Sum of the seconds for which each Node was ready, which the environment charges for."""


def elasticity(trace: Trace, clients_per_node: int) -> Elasticity:
    """Metrics over the whole trace; all 0 if it has no duration."""
    times = np.asarray(trace.times_s)
    if times.size < 2 or times[-1] <= times[0]:
        return Elasticity(
            under_accuracy=0.0,
            over_accuracy=0.0,
            under_timeshare=0.0,
            over_timeshare=0.0,
            jitter=0.0,
            node_seconds=0.0,
        )
    lasting = np.diff(times)
    total = float(times[-1] - times[0])
    demand = -(-np.asarray(trace.clients)[:-1] // clients_per_node)
    supply = np.asarray(trace.nodes)[:-1]
    missing = np.maximum(demand - supply, 0)
    excess = np.maximum(supply - demand, 0)
    wanted = demand > 0
    needed = np.where(wanted, demand, 1)
    demanded = max(float(lasting[wanted].sum()), np.finfo(float).tiny)
    changes = int(np.count_nonzero(np.diff(supply))) - int(np.count_nonzero(np.diff(demand)))
    return Elasticity(
        under_accuracy=float((lasting * missing / needed).sum() / demanded),
        over_accuracy=float((lasting * np.where(wanted, excess / needed, 0)).sum() / demanded),
        under_timeshare=float(lasting[missing > 0].sum() / total),
        over_timeshare=float(lasting[excess > 0].sum() / total),
        jitter=changes / total,
        node_seconds=float((lasting * supply).sum()),
    )
