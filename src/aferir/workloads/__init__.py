"""What runs inside an environment: one file per program, and what they share in `kernels`."""

from __future__ import annotations

import difflib

from aferir.errors import UsageError
from aferir.workloads.aggregation import AGGREGATION
from aferir.workloads.base import Workload
from aferir.workloads.checkpoint import CHECKPOINT
from aferir.workloads.clock import CLOCK
from aferir.workloads.colocation import COLOCATION
from aferir.workloads.dedup import DEDUP
from aferir.workloads.effective_bandwidth import EFFECTIVE_BANDWIDTH
from aferir.workloads.elastic import ALLOCATION, CAPACITY, MOVIE
from aferir.workloads.index import INDEX
from aferir.workloads.iperf3 import IPERF3
from aferir.workloads.lattice_boltzmann import LATTICE_BOLTZMANN
from aferir.workloads.memory import MEMORY
from aferir.workloads.mpi_clock import MPI_CLOCK
from aferir.workloads.netpipe import NETPIPE
from aferir.workloads.network import NETWORK
from aferir.workloads.npb import NPB
from aferir.workloads.npb_mpi import NPB_MPI
from aferir.workloads.npb_reference import NPB_REFERENCE
from aferir.workloads.ocean import OCEAN
from aferir.workloads.peak import PEAK
from aferir.workloads.stores.blast import BLAST
from aferir.workloads.stores.key_value import HBASE, KEY_VALUE
from aferir.workloads.stores.oltp import OLTP, OLTP_SYSBENCH
from aferir.workloads.wordcount import WORDCOUNT


def all_workloads() -> dict[str, Workload]:
    """Every program by its name in an experiment file."""
    known: tuple[Workload, ...] = (
        *(NPB, NPB_MPI, NPB_REFERENCE, MEMORY, PEAK, OCEAN, EFFECTIVE_BANDWIDTH, LATTICE_BOLTZMANN),
        *(NETWORK, NETPIPE, IPERF3, AGGREGATION, CLOCK, MPI_CLOCK),
        *(CHECKPOINT, DEDUP, INDEX, WORDCOUNT),
        *(BLAST, HBASE, KEY_VALUE, OLTP, OLTP_SYSBENCH),
        *(ALLOCATION, CAPACITY, MOVIE, COLOCATION),
    )
    return {workload.program: workload for workload in known}


def by_program(name: str) -> Workload:
    """The backend of one program. Errors: UsageError naming the closest known one."""
    known = all_workloads()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    raise UsageError(
        f"there is no program `{name}`",
        remedy=f"did you mean `{close[0]}`?" if close else f"choose one of {', '.join(known)}",
    )
