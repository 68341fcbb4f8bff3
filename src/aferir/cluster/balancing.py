"""Chooses the host for a cluster by the processors that clusters ask for on each. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.cluster.description import Description


class Room(msgspec.Struct, frozen=True):
    """How far the clusters of one host ask for its processors."""

    processors: int
    asked: int
    """Processors of all nodes of its clusters, each as often as a node asks for it."""

    def __str__(self) -> str:
        return f"clusters ask for {self.asked} of {self.processors} processors"

    def share(self, more: int = 0) -> float:
        """Processors that are asked for, and `more`, relative to those that the host has."""
        return (self.asked + more) / self.processors


def processors_of(description: Description) -> int:
    """Processors that all nodes of a cluster ask for."""
    return description.nodes * description.cpus


def better(here: Room, cluster: int, others: Sequence[Room]) -> list[int]:
    """Places in `others` where a cluster of so many processors shares them with less, best first.

    `here` includes the cluster.
    """
    shares = {place: room.share(cluster) for place, room in enumerate(others)}
    return sorted((k for k in shares if shares[k] < here.share()), key=lambda k: shares[k])
