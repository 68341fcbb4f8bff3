"""Machines that a batch system allocates for one run: nodes of Slurm, pods of Kubernetes.

`base` is the Protocol; each batch system is one file.
"""

from __future__ import annotations

from collections.abc import Mapping

from aferir.allocations import kubernetes, slurm
from aferir.allocations.base import Allocation, Allocator
from aferir.linux.cleaning import Cleaner
from aferir.model.host import AllocationSpec

ALLOCATORS: Mapping[str, Allocator] = {
    one.name: one for one in (slurm.ALLOCATOR, kubernetes.ALLOCATOR)
}
"""Batch systems by the name that stands before the colon of `host = "slurm:4"`."""
CLEANERS: Mapping[str, Cleaner] = {one.name: one.give_back for one in ALLOCATORS.values()}
"""Cleaners by kind of journal entry."""


def allocate(spec: AllocationSpec) -> Allocation:
    """Make an allocation, which may wait for its turn. Errors: MissingError with the reason."""
    return ALLOCATORS[spec.name.partition(":")[0]].allocate(spec)
