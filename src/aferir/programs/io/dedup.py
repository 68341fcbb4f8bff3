"""Compression by deduplication in a pipeline of five stages, after PARSEC's dedup."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import size, whole
from aferir.programs.io.base import MOST_BYTES, Instances, IoParameters, IoProgram

_BASE = 24 * 2**20
_FRAGMENT = 3 * 2**20
_MEAN_CHUNK = 8192
_CONTENT = 192


class DedupParameters(IoParameters, frozen=True, kw_only=True):
    """Parameters of the processes, and of the files that they compress."""

    instances: Instances = 1
    threads: Annotated[int, whole("threads of each of the three stages in the middle", 1, 1024)] = 2
    file_bytes: Annotated[int, size("size of each file", 1024, MOST_BYTES)] = 64 * 2**20
    duplicate_percent: Annotated[
        int, whole("share of a file that repeats earlier parts", 0, 95, unit="%")
    ] = 50
    level: Annotated[int, whole("level of compression of zlib", 1, 9)] = 6


def _memory(values: DedupParameters) -> int:
    """Bytes of the fragments in the pipeline with their results, and of a table entry per chunk."""
    fragments = 4 + 4 * values.threads
    contents = values.file_bytes // _MEAN_CHUNK
    return values.instances * (_BASE + fragments * _FRAGMENT + contents * _CONTENT)


DEDUP = IoProgram(
    "dedup",
    DedupParameters,
    memory=_memory,
    short=({"instances": 2, "file_bytes": 64 * 2**20}, {"file_bytes": 128 * 2**20, "cold": True}),
    figures={"chunks": "1", "duplicates": "1", "duplicate_share": "1", "ratio": "1"},
)
