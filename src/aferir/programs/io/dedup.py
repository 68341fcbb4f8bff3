"""Compression by deduplication in a pipeline of five stages, after PARSEC's dedup."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.programs.io.base import MOST_BYTES, MOST_INSTANCES, IoProgram, Whole

_BASE = 24 * 2**20
_FRAGMENT = 3 * 2**20
_MEAN_CHUNK = 8192
_CONTENT = 192


def _memory(values: Mapping[str, int]) -> int:
    """Fragments under way with what is made of them, and one entry for each content met."""
    fragments = 4 + 4 * values["threads"]
    contents = values["file_bytes"] // _MEAN_CHUNK
    return values["instances"] * (_BASE + fragments * _FRAGMENT + contents * _CONTENT)


DEDUP = IoProgram(
    "dedup",
    whole={
        "instances": Whole(1, 1, MOST_INSTANCES),
        "threads": Whole(2, 1, 1024),
        "file_bytes": Whole(64 * 2**20, 1024, MOST_BYTES),
        "duplicate_percent": Whole(50, 0, 95),
        "level": Whole(6, 1, 9),
        "seed": Whole(1, 0, 2**62),
    },
    flags=("cold",),
    memory=_memory,
    short=({"instances": 2, "file_bytes": 64 * 2**20}, {"file_bytes": 128 * 2**20, "cold": True}),
    figures={"chunks": "1", "duplicates": "1", "duplicate_share": "1", "ratio": "1"},
)
