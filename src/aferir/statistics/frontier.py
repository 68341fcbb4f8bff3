"""Of several that are judged by two figures, those that no other one beats in both."""

from __future__ import annotations

from collections.abc import Mapping


def frontier(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Names of the unbeaten, from the smallest first figure on.

    Each has two figures, of which the first is better small and the second large. Another one beats
    it that is at least as good in both and better in one.
    """
    order = sorted(points, key=lambda name: (points[name][0], -points[name][1]))
    found: list[str] = []
    for name in order:
        best = points[found[-1]] if found else None
        if best is None or points[name][1] > best[1] or points[name] == best:
            found.append(name)
    return tuple(found)
