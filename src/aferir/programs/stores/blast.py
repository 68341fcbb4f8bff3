"""Nucleotide sequence similarity: NCBI BLAST+ over sequences made from a seed."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import number, whole
from aferir.programs.declared import MOST_THREADS
from aferir.programs.stores.store import Needs, Store, StoreParameters

_MIB = 2**20


class BlastParameters(StoreParameters, frozen=True, kw_only=True):
    """Parameters of the database and of the queries."""

    database_bases: Annotated[int, whole("four in a byte on the disk", 1000, 10**12)] = 50_000_000
    queries: Annotated[int, whole("queries of each instance", 1, 10**6)] = 20
    query_bases: Annotated[int, whole("length of a query", 500, 10**6)] = 5000
    mutated: Annotated[
        float, number("share of the planted bases that are substituted", 0.0, 0.1)
    ] = 0.05
    instances: Annotated[int, whole("concurrent programs", 1, 1024)] = 2
    threads: Annotated[int, whole("threads of each instance", 1, MOST_THREADS)] = 1
    seed: Annotated[int, whole("seed of the data", 0, 2**31)] = 1


BLAST = Store(
    "blast",
    BlastParameters,
    needs=Needs(("makeblastdb", "blastn", "blastdbcmd"), ("ncbi-blast+",)),
    short=({"database_bases": 20_000_000},),
    memory={"": 64 * _MIB, "database_bases": 2.5, "instances": 64 * _MIB},
)
