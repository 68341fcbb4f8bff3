"""Which of an environment's features each arm of an experiment has, to find what each costs."""

from __future__ import annotations

import msgspec


class Varied(msgspec.Struct, frozen=True, kw_only=True):
    """A feature that some arms have and others have not."""

    name: str
    remedy: str
    """How a user takes it away, a sentence without its full stop."""
    gives_up: str
    """What is lost with it, in words that follow "this gives up"."""


class Kept(msgspec.Struct, frozen=True):
    """A feature that all arms have, and why it is not varied."""

    name: str
    why: str


class Arm(msgspec.Struct, frozen=True):
    """One environment of the design."""

    environment: str
    """Its name in the plan."""
    levels: tuple[int, ...]
    """+1 where it has the feature, -1 where that is taken away; in the order of `varied`."""


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """What explains one environment of a plan."""

    environment: str
    """The one that is explained, which has all the features."""
    baselines: tuple[str, ...]
    """Arms without anything of it, which are all alike."""
    varied: tuple[Varied, ...]
    arms: tuple[Arm, ...]
    """Arms of the same levels are repetitions of one another."""
    kept: tuple[Kept, ...] = ()
