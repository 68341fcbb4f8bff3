"""The Protocol of batch systems that lend machines for one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from aferir.linux.journal import Entry
from aferir.model.host import AllocationSpec


class Allocation(Protocol):
    """Machines that a batch system has allocated for one run."""

    reach: tuple[tuple[str, ...], ...]
    """Commands that run a shell on each machine: see `HostSpec.reach`."""

    def release(self) -> None:
        """Release the machines; may be called twice."""
        ...


class Allocator(msgspec.Struct, frozen=True):
    """A batch system, as the functions that allocate its machines and clean up after a kill."""

    name: str
    """Name before the colon of `host = "slurm:4"`, and kind of its journal entries."""
    allocate: Callable[[AllocationSpec], Allocation]
    """Makes an allocation. Errors: MissingError if the batch system refuses or is not there."""
    give_back: Callable[[Entry], None]
    """Releases what a dead owner left. Errors: ProgramError if it may still be there."""
