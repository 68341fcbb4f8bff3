"""Pareto frontier of points with two figures."""

from __future__ import annotations

from collections.abc import Mapping


def frontier(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Names of the points that no other one dominates, in the order of their first figure.

    Small values of the first figure and large values of the second are better. A point dominates
    another if it is at least as good in both figures and better in one.
    """
    order = sorted(points, key=lambda name: (points[name][0], -points[name][1]))
    found: list[str] = []
    for name in order:
        best = points[found[-1]] if found else None
        if best is None or points[name][1] > best[1] or points[name] == best:
            found.append(name)
    return tuple(found)
