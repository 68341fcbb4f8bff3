"""Map-reduce over memory-mapped files, after Metis: how often each term of a text occurs."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import size, whole
from aferir.programs.io.base import (
    MOST_BYTES,
    Instances,
    IoParameters,
    IoProgram,
    Terms,
)

_BASE = 16 * 2**20
_TERM = 96


class WordcountParameters(IoParameters, frozen=True, kw_only=True):
    """Parameters of the processes, and of the files whose terms they count."""

    instances: Instances = 1
    maps: Annotated[int, whole("threads that map", 1, 1024)] = 2
    reduces: Annotated[int, whole("threads that reduce", 1, 1024)] = 2
    file_bytes: Annotated[int, size("size of each file", 1024, MOST_BYTES)] = 128 * 2**20
    terms: Terms = 100_000


def _memory(values: WordcountParameters) -> int:
    """Bytes of one table per map thread, the reducers' tables, the result and the expected one."""
    return _BASE + values.instances * (values.maps + 3) * values.terms * _TERM


WORDCOUNT = IoProgram(
    "wordcount",
    WordcountParameters,
    memory=_memory,
    short=({"instances": 2, "file_bytes": 64 * 2**20}, {"file_bytes": 128 * 2**20, "cold": True}),
    figures={"terms": "1"},
)
