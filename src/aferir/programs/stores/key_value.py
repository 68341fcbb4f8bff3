"""Key-value stores under YCSB: Berkeley DB Java Edition, and HBase."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import number, size, whole
from aferir.programs.stores.store import Needs, Store, StoreParameters

_MIB = 2**20
_JAVA = ("default-jre-headless",)
_Reads = Annotated[float, number("share of the requests; the others update one field", 0.0, 1.0)]


class YcsbParameters(StoreParameters, frozen=True, kw_only=True):
    """Parameters of the records and of the requests."""

    records: Annotated[int, whole("records that are loaded", 1, 10**10)] = 20_000
    requests: Annotated[int, whole("requests of all clients together", 1, 10**10)] = 50_000
    clients: Annotated[int, whole("threads that send requests", 1, 4096)] = 8
    fields: Annotated[int, whole("fields of each record", 1, 1000)] = 10
    field_bytes: Annotated[int, size("size of each field", 1, _MIB)] = 1000


class KeyValueParameters(YcsbParameters, frozen=True, kw_only=True):
    """Parameters of YCSB, and of Berkeley DB."""

    reads: _Reads = 0.5
    cache_bytes: Annotated[int, size("size of Berkeley DB's cache", _MIB, 2**45)] = 32 * _MIB


class HbaseParameters(YcsbParameters, frozen=True, kw_only=True):
    """Parameters of YCSB, and of the HBase server."""

    reads: _Reads = 0.7
    settle: Annotated[
        int, whole("requests before those that are measured, which are a window then", 0, 10**10)
    ] = 0
    heap_bytes: Annotated[int, size("size of the server's Java heap", 256 * _MIB, 2**45)] = (
        1024 * _MIB
    )


KEY_VALUE = Store(
    "key-value",
    KeyValueParameters,
    needs=Needs(("java",), _JAVA, jars="key-value"),
    memory={"": 512 * _MIB, "cache_bytes": 1.5, "clients": _MIB},
    short=({"records": 5000, "requests": 10_000},),
)
HBASE = Store(
    "hbase",
    HbaseParameters,
    needs=Needs(("java",), _JAVA, jars="hbase"),
    memory={"": 768 * _MIB, "heap_bytes": 1.2, "clients": _MIB},
    short=({"records": 5000, "requests": 10_000},),
)
