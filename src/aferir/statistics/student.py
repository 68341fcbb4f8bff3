"""Degrees of freedom of combined errors."""

from __future__ import annotations


def satterthwaite(parts: tuple[float, ...], freedoms: tuple[float, ...]) -> float:
    """Degrees of freedom of a sum of squared errors (Satterthwaite 1946)."""
    scatter = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return sum(parts) ** 2 / scatter if scatter > 0 else min(freedoms)
