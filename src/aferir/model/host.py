"""A host on which environments may run, as an experiment file describes it."""

from __future__ import annotations

import msgspec

SPREAD = "native"
"""Kind of environment that may span several hosts."""


class HostSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host: the command that reaches it, and the resources that may be used."""

    name: str
    reach: tuple[str, ...]
    """Command that runs a shell there when the shell's name is appended, and connects its standard
    input and output: `("ssh", "node1")`, `("podman", "exec", "-i", "box")`.
    """
    sudo: bool = False
    """True if the agent is started as root by sudo(8), which must not ask for a password."""
    cpus: int | None = None
    """Largest number of CPUs to use there; None: all that are found."""
    memory_bytes: int | None = None
    """Largest amount of memory to use there, in bytes; None: all that is found."""
