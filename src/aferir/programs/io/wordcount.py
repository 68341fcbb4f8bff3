"""Map-reduce over memory-mapped files, after Metis: how often each term of a text occurs."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.programs.io.base import MOST_BYTES, MOST_INSTANCES, IoProgram, Whole

_BASE = 16 * 2**20
_TERM = 96


def _memory(values: Mapping[str, int]) -> int:
    """A table of each map thread, the reducers' together, the result and what is expected."""
    return _BASE + values["instances"] * (values["maps"] + 3) * values["terms"] * _TERM


WORDCOUNT = IoProgram(
    "wordcount",
    whole={
        "instances": Whole(1, 1, MOST_INSTANCES),
        "maps": Whole(2, 1, 1024),
        "reduces": Whole(2, 1, 1024),
        "file_bytes": Whole(128 * 2**20, 1024, MOST_BYTES),
        "terms": Whole(100_000, 1, 2**24),
        "seed": Whole(1, 0, 2**62),
    },
    flags=("cold",),
    memory=_memory,
    short=({"instances": 2, "file_bytes": 64 * 2**20}, {"file_bytes": 128 * 2**20, "cold": True}),
    figures={"terms": "1"},
)
