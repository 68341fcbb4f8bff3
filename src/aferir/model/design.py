"""Factorial design: which features of an environment each arm of an experiment has."""

from __future__ import annotations

import msgspec


class Varied(msgspec.Struct, frozen=True, kw_only=True):
    """A feature that some arms have and others lack."""

    name: str
    remedy: str
    """Advice that removes the feature: a sentence without its full stop."""
    gives_up: str
    """Loss without the feature, in words that follow "this gives up"."""


class Kept(msgspec.Struct, frozen=True):
    """A feature that all arms have, and why it is not varied."""

    name: str
    why: str


class Arm(msgspec.Struct, frozen=True):
    """One arm of the design: an environment, and the features that it has."""

    environment: str
    """Name of the environment in the plan."""
    levels: tuple[int, ...]
    """+1 if the arm has the feature, -1 if it lacks it, in the order of `varied`."""


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """Design by which the cost of one environment of a plan is attributed to its features."""

    environment: str
    """Name of the explained environment, which has all the features."""
    baselines: tuple[str, ...]
    """Names of the baseline arms, which have no feature and are identical."""
    varied: tuple[Varied, ...]
    arms: tuple[Arm, ...]
    """All arms; arms with the same levels repeat the same measurement."""
    kept: tuple[Kept, ...] = ()
