"""Collects the terms of a file tree in hash tables, flushed to Berkeley DB; after Psearchy."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import size, whole
from aferir.programs.io.base import MOST_BYTES, MOST_INSTANCES, IoParameters, IoProgram, Terms

_PROCESS = 8 * 2**20
_TERM = 128


class IndexParameters(IoParameters, frozen=True, kw_only=True):
    """Parameters of the processes, and of the tree that they index."""

    processes: Annotated[int, whole("processes that share the tree", 1, MOST_INSTANCES)] = 2
    tree_bytes: Annotated[int, size("size of all documents together", 1024, MOST_BYTES)] = (
        64 * 2**20
    )
    table_bytes: Annotated[int, size("size of each table", 4096, 16 * 2**30)] = 8 * 2**20
    cache_bytes: Annotated[
        int, size("size of Berkeley DB's cache in each process", 2**18, 2**40)
    ] = 32 * 2**20
    terms: Terms = 100_000


def _memory(values: IndexParameters) -> int:
    """Bytes of each process's table and cache, and of the data about each term."""
    process = values.table_bytes + values.cache_bytes + _PROCESS
    return values.processes * process + values.terms * _TERM


INDEX = IoProgram(
    "index",
    IndexParameters,
    memory=_memory,
    short=({"processes": 2, "tree_bytes": 64 * 2**20}, {"processes": 2, "cold": True}),
    figures={"documents": "1", "postings": "1", "flushes": "1"},
)
