"""Nucleotide sequence similarity: NCBI BLAST+ over sequences made from a seed."""

from __future__ import annotations

from aferir.programs.kernels import MOST_THREADS
from aferir.programs.stores.store import Needs, Option, StoreWorkload

_MIB = 2**20

BLAST = StoreWorkload(
    "blast",
    options=(
        Option("database_bases", 50_000_000, 1000, 10**12),
        Option("queries", 20, 1, 10**6),
        Option("query_bases", 5000, 500, 10**6),
        Option("mutated", 0.05, 0.0, 0.1),
        Option("instances", 2, 1, 1024),
        Option("threads", 1, 1, MOST_THREADS),
        Option("seed", 1, 0, 2**31),
    ),
    needs=Needs(("makeblastdb", "blastn", "blastdbcmd"), ("ncbi-blast+",)),
    short=({"database_bases": 20_000_000},),
    memory={"": 64 * _MIB, "database_bases": 2.5, "instances": 64 * _MIB},
)
