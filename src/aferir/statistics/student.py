"""Degrees of freedom of a variance that is the sum of several estimated variances."""

from __future__ import annotations


def satterthwaite(parts: tuple[float, ...], freedoms: tuple[float, ...]) -> float:
    """Degrees of freedom of the sum of `parts`, which are squared errors (Satterthwaite 1946)."""
    scatter = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return sum(parts) ** 2 / scatter if scatter > 0 else min(freedoms)
