"""Every kind of environment and every program that this aferir knows, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from aferir.aggregation.program import AGGREGATION
from aferir.clock.mpi_program import MPI_CLOCK
from aferir.clock.program import CLOCK
from aferir.clouds.environment import Clouds
from aferir.cluster import manager
from aferir.cluster.instance import Cluster
from aferir.colocation.program import COLOCATION
from aferir.elastic.program import ALLOCATION, CAPACITY, MOVIE
from aferir.environments import cleaning
from aferir.environments.base import Environment
from aferir.environments.lxc.container import Container
from aferir.environments.native import Native
from aferir.environments.qemu.vm import VirtualMachine
from aferir.errors import UsageError
from aferir.image.userland import Progress, silent
from aferir.linux import journal
from aferir.model.plan import EnvironmentKind
from aferir.programs.base import Workload
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

_MAKERS: dict[EnvironmentKind, Callable[[Progress], Environment]] = {
    "native": lambda _: Native(),
    "container": Container,
    "vm": VirtualMachine,
    "cloud": lambda _: Clouds(),
    "cluster": Cluster,
}
KINDS: tuple[EnvironmentKind, ...] = tuple(_MAKERS)


def by_kind(kind: EnvironmentKind, progress: Progress = silent) -> Environment:
    """Return the environment of that kind; `progress` is told in words what takes long."""
    return _MAKERS[kind](progress)


def clean(entries: Sequence[journal.Entry]) -> list[str]:
    """Undo what killed runs left, clusters first; what could not be undone, a sentence each."""
    return manager.clean(entries) + cleaning.clean(entries)


def all_programs() -> dict[str, Workload]:
    """Return every program by its name in an experiment file."""
    known: tuple[Workload, ...] = (
        *(NPB, NPB_MPI, NPB_REFERENCE, MEMORY, PEAK, OCEAN, EFFECTIVE_BANDWIDTH, LATTICE_BOLTZMANN),
        *(NETWORK, NETPIPE, IPERF3, AGGREGATION, CLOCK, MPI_CLOCK),
        *(CHECKPOINT, DEDUP, INDEX, WORDCOUNT),
        *(BLAST, HBASE, KEY_VALUE, OLTP, OLTP_SYSBENCH),
        *(ALLOCATION, CAPACITY, MOVIE, COLOCATION),
    )
    return {workload.program: workload for workload in known}


def by_program(name: str) -> Workload:
    """Return the backend of one program. Errors: UsageError naming the closest known one."""
    known = all_programs()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    raise UsageError(
        f"there is no program `{name}`",
        remedy=f"did you mean `{close[0]}`?" if close else f"choose one of {', '.join(known)}",
    )
