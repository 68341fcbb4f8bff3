"""A host that environments may be on, as an experiment file describes it."""

from __future__ import annotations

import msgspec

SPREAD = "native"
"""The kind of environment that may be over several hosts."""


class HostSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How a host is reached, and what its results are weighed by."""

    name: str
    reach: tuple[str, ...]
    """The command that, with a shell's name behind it, gives us that shell's standard input and
    output there: `("ssh", "node1")`, `("podman", "exec", "-i", "box")`."""
    sudo: bool = False
    """Whether the agent is to be root by sudo(8), which must not ask for a password."""
    cpus: int | None = None
    """At most so many may be used there; None: all that are found."""
    memory_bytes: int | None = None
    """At most so much; None: all that is found."""
