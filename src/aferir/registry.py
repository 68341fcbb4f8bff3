"""Lists every kind of environment and every program of this installation by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from aferir import allocations, extensions
from aferir.aggregation import guard
from aferir.aggregation.program import AGGREGATION
from aferir.clock.mpi_program import MPI_CLOCK
from aferir.clock.program import CLOCK
from aferir.clouds.environment import CLOUD
from aferir.cluster.instance import CLUSTER
from aferir.colocation import remembered
from aferir.colocation.program import COLOCATION
from aferir.elastic.program import ALLOCATION, CAPACITY, LOAD, MOVIE
from aferir.environments.apptainer import APPTAINER
from aferir.environments.base import Context, Environment, Kind
from aferir.environments.bubblewrap import BUBBLEWRAP
from aferir.environments.charliecloud import CHARLIECLOUD
from aferir.environments.chroot import CHROOT
from aferir.environments.lxc.container import CONTAINER
from aferir.environments.native import NATIVE
from aferir.environments.nspawn import NSPAWN
from aferir.environments.oci.container import OCI
from aferir.environments.qemu.vm import VIRTUAL_MACHINE
from aferir.environments.uml.kind import UML
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.linux import cleaning, journal
from aferir.programs.base import Program
from aferir.programs.command.program import COMMAND
from aferir.programs.effective_bandwidth import EFFECTIVE_BANDWIDTH
from aferir.programs.io.checkpoint import CHECKPOINT
from aferir.programs.io.dedup import DEDUP
from aferir.programs.io.index import INDEX
from aferir.programs.io.wordcount import WORDCOUNT
from aferir.programs.lattice_boltzmann import LATTICE_BOLTZMANN
from aferir.programs.memory import MEMORY
from aferir.programs.network.iperf3 import IPERF3
from aferir.programs.network.netpipe import NETPIPE
from aferir.programs.network.sweep import NETWORK
from aferir.programs.npb.ranks import NPB_MPI
from aferir.programs.npb.reference import NPB_REFERENCE
from aferir.programs.npb.threads import NPB
from aferir.programs.ocean import OCEAN
from aferir.programs.peak import PEAK
from aferir.programs.stores.blast import BLAST
from aferir.programs.stores.key_value import HBASE, KEY_VALUE
from aferir.programs.stores.oltp import OLTP, OLTP_SYSBENCH

ENVIRONMENTS = "aferir.environments"
"""Group of entry points by which other packages add kinds of environment."""
_OWN_KINDS = (
    *(NATIVE, CHROOT, BUBBLEWRAP, NSPAWN, CHARLIECLOUD, APPTAINER),
    *(CONTAINER, OCI, UML, VIRTUAL_MACHINE, CLOUD, CLUSTER),
)
"""Kinds of environment that aferir brings. A kind whose instances contain those of others comes
after them, so that it is cleaned up before them.
"""


_OF_CHAPTERS: dict[str, cleaning.Cleaner] = {
    **allocations.CLEANERS,
    guard.KIND: guard.give_back,
    remembered.KIND: remembered.give_back,
}
"""Cleaners, by kind of journal entry, for what runs change or allocate outside environments."""

PROGRAMS = "aferir.programs"
"""Group of entry points by which other packages add programs."""
_OWN_PROGRAMS: tuple[Program[Any], ...] = (
    *(NPB, NPB_MPI, NPB_REFERENCE, MEMORY, PEAK, OCEAN, EFFECTIVE_BANDWIDTH, LATTICE_BOLTZMANN),
    COMMAND,
    *(NETWORK, NETPIPE, IPERF3, AGGREGATION, CLOCK, MPI_CLOCK),
    *(CHECKPOINT, DEDUP, INDEX, WORDCOUNT),
    *(BLAST, HBASE, KEY_VALUE, OLTP, OLTP_SYSBENCH),
    *(ALLOCATION, CAPACITY, LOAD, MOVIE, COLOCATION),
)


def kinds() -> dict[str, Kind]:
    """Return every kind of environment by its name in an experiment file.

    Errors: UsageError naming the package that adds one which cannot be used.
    """
    own = {kind.name: kind for kind in _OWN_KINDS}
    return extensions.with_added(own, ENVIRONMENTS, _is_kind, lambda kind: kind.name)


def by_kind(kind: str, progress: Progress = silent) -> Environment:
    """Return the environment of kind `kind`, which reports long steps to `progress`."""
    return kinds()[kind].make(context(progress))


def context(progress: Progress = silent) -> Context:
    """Return the context that environments are made with: a receiver of messages, and `clean`."""
    return Context(progress, clean)


def clean(entries: Sequence[journal.Entry]) -> list[str]:
    """Undo what killed runs left; returns a sentence for each thing that could not be undone."""
    return cleaning.clean(entries, _cleaners(tuple(kinds().values())))


def image_users() -> frozenset[str]:
    """Kinds of journal entries whose objects, such as containers, may read from an image."""
    kept = (kind.clean for kind in kinds().values() if kind.has_image)
    return frozenset[str]().union(*kept)


def _cleaners(chosen: Sequence[Kind]) -> dict[str, cleaning.Cleaner]:
    """Cleaners by kind of journal entry, in the order in which they are called."""
    found: dict[str, cleaning.Cleaner] = {}
    for kind in reversed(chosen):
        found.update(kind.clean)
    own = {userland.BUILDING: userland.give_back}
    return {**_OF_CHAPTERS, **found, **own, **cleaning.LINUX}


def _is_kind(thing: object) -> TypeGuard[Kind]:
    return isinstance(thing, Kind)


def all_programs() -> dict[str, Program[Any]]:
    """Return every program by its name in an experiment file.

    Errors: UsageError naming the package that adds one which cannot be used.
    """
    own = {program.name: program for program in _OWN_PROGRAMS}
    return extensions.with_added(own, PROGRAMS, _is_program, lambda program: program.name)


def _is_program(thing: object) -> TypeGuard[Program[Any]]:
    return isinstance(thing, Program)
