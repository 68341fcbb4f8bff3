"""Assigns CPUs of the host to the nodes of a cluster, and advises on the placement; pure.

- spread: each node on the least loaded CPUs, cores before their second threads, within one NUMA
  node if it fits, so that nodes are as far apart as possible;
- packed: one after another in the order of NUMA nodes, cores and threads, close together;
- reserve: as spread, but without the first core, which is left to the host;
- free: every node may use all CPUs, and the kernel's scheduler decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from aferir.cluster.description import Placement
from aferir.machine.processors import Processor

Cpus = tuple[int, ...]


class Advice(msgspec.Struct, frozen=True):
    """A placement of a cluster, with its reason."""

    placement: Placement
    cpus: tuple[Cpus, ...]
    """CPUs of each node, the front end's first."""
    reason: str


def place(how: Placement, nodes: int, cpus: int, host: Sequence[Processor]) -> list[Cpus]:
    """CPUs of the host for each node: `cpus` of them, or all if the host has fewer.

    If there are not enough for all nodes, they are shared.
    """
    return _WAYS[how](nodes, min(cpus, len(host)), host)


def first_like(how: Placement, nodes: int, cpus: int, host: Sequence[Processor]) -> Placement:
    """The first placement that gives all nodes the same CPUs of this host as `how` does."""
    wanted = place(how, nodes, cpus, host)
    return next(each for each in _WAYS if place(each, nodes, cpus, host) == wanted)


def advise(nodes: int, cpus: int, host: Sequence[Processor]) -> Advice:
    """The placement that suits a cluster and a host.

    If two ranks share a CPU while another is idle, all that wait for them run at half speed. Nodes
    are therefore pinned if each CPU gets equally many of them, and otherwise left to the scheduler.
    """
    wanted, have = nodes * min(cpus, len(host)), len(host)
    left = without_first_core(host)
    how: Placement = "spread"
    if wanted <= len(left) < have:
        how = "reserve"
        reason = (
            f"{wanted} of {have} CPUs are enough, so the first core is left to the host, "
            "and every node has CPUs of its own"
        )
    elif wanted <= have:
        reason = f"the {have} CPUs suffice for every node to have its own"
    elif wanted % have == 0:
        reason = f"{have} CPUs are shared by {wanted // have} nodes each, all equally"
    else:
        how = "free"
        reason = (
            f"{wanted} do not divide among {have} CPUs: bound, some nodes would share a CPU with "
            "more others than the rest, and the rest would wait for them"
        )
    return Advice(how, tuple(place(how, nodes, cpus, host)), reason)


def without_first_core(host: Sequence[Processor]) -> list[Processor]:
    """The host's CPUs without those of its first core."""
    first = min(host, key=lambda p: p.number)
    return [p for p in host if (p.package, p.core) != (first.package, first.core)]


def _spread(nodes: int, cpus: int, host: Sequence[Processor]) -> list[Cpus]:
    load = dict.fromkeys((p.number for p in host), 0)
    groups = [[p for p in host if p.memory == m] for m in sorted({p.memory for p in host})]
    fitting = [group for group in groups if len(group) >= cpus] or [list(host)]
    chosen = []
    for _ in range(nodes):
        group = min(fitting, key=lambda group: sum(load[p.number] for p in group) / len(group))
        best = _least_loaded(group, cpus, load, host)
        for processor in best:
            load[processor.number] += 1
        chosen.append(tuple(sorted(p.number for p in best)))
    return chosen


def _least_loaded(
    group: Sequence[Processor], cpus: int, load: Mapping[int, int], host: Sequence[Processor]
) -> list[Processor]:
    """Pick the least loaded CPUs one by one; each pick adds load to its core for the next."""
    own = dict(load)
    picked: list[Processor] = []
    for _ in range(cpus):
        rest = [p for p in group if p not in picked]
        picked.append(min(rest, key=lambda p: (_cost(p, own, host), p.number)))
        own[picked[-1].number] += 1
    return picked


def _cost(processor: Processor, load: Mapping[int, int], host: Sequence[Processor]) -> float:
    """Number of nodes on the CPU; nodes on other threads of its core break ties."""
    core = [p for p in host if (p.package, p.core) == (processor.package, processor.core)]
    beside = sum(load[p.number] for p in core) - load[processor.number]
    return load[processor.number] + beside / (1 + sum(load.values()))


def _packed(nodes: int, cpus: int, host: Sequence[Processor]) -> list[Cpus]:
    order = sorted(host, key=lambda p: (p.memory, p.package, p.core, p.number))
    return [
        tuple(sorted(order[(first * cpus + k) % len(order)].number for k in range(cpus)))
        for first in range(nodes)
    ]


def _reserve(nodes: int, cpus: int, host: Sequence[Processor]) -> list[Cpus]:
    left = without_first_core(host) or list(host)
    return _spread(nodes, min(cpus, len(left)), left)


def _free(nodes: int, _: int, host: Sequence[Processor]) -> list[Cpus]:
    return [tuple(sorted(p.number for p in host))] * nodes


_WAYS: Mapping[Placement, Callable[[int, int, Sequence[Processor]], list[Cpus]]] = {
    "spread": _spread,
    "packed": _packed,
    "reserve": _reserve,
    "free": _free,
}
