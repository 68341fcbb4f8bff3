"""Terms of a file tree into hash tables, flushed to Berkeley DB; after Psearchy's indexer."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.programs.io.base import MOST_BYTES, MOST_INSTANCES, IoProgram, Whole

_PROCESS = 8 * 2**20
_TERM = 128


def _memory(values: Mapping[str, int]) -> int:
    """Table and cache of each process; what is known of each term."""
    process = values["table_bytes"] + values["cache_bytes"] + _PROCESS
    return values["processes"] * process + values["terms"] * _TERM


INDEX = IoProgram(
    "index",
    whole={
        "processes": Whole(2, 1, MOST_INSTANCES),
        "tree_bytes": Whole(64 * 2**20, 1024, MOST_BYTES),
        "table_bytes": Whole(8 * 2**20, 4096, 16 * 2**30),
        "cache_bytes": Whole(32 * 2**20, 2**18, 2**40),
        "terms": Whole(100_000, 1, 2**24),
        "seed": Whole(1, 0, 2**62),
    },
    flags=("cold",),
    memory=_memory,
    short=({"processes": 2, "tree_bytes": 64 * 2**20}, {"processes": 2, "cold": True}),
    figures={"documents": "1", "postings": "1", "flushes": "1"},
)
