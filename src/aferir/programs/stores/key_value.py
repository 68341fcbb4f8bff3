"""Key-value stores under YCSB: Berkeley DB Java Edition, and HBase."""

from __future__ import annotations

from aferir.programs.stores.store import Needs, Option, StoreWorkload

_MIB = 2**20
_JAVA = ("default-jre-headless",)
_COMMON = (
    Option("records", 20_000, 1, 10**10),
    Option("requests", 50_000, 1, 10**10),
    Option("clients", 8, 1, 4096),
    Option("fields", 10, 1, 1000),
    Option("field_bytes", 1000, 1, _MIB),
)

KEY_VALUE = StoreWorkload(
    "key-value",
    options=(
        *_COMMON,
        Option("reads", 0.5, 0.0, 1.0),
        Option("cache_bytes", 32 * _MIB, _MIB, 2**45),
    ),
    needs=Needs(("java",), _JAVA, jars="key-value"),
    memory={"": 512 * _MIB, "cache_bytes": 1.5, "clients": _MIB},
    short=({"records": 5000, "requests": 10_000},),
)
HBASE = StoreWorkload(
    "hbase",
    options=(
        *_COMMON,
        Option("reads", 0.7, 0.0, 1.0),
        Option("heap_bytes", 1024 * _MIB, 256 * _MIB, 2**45),
    ),
    needs=Needs(("java",), _JAVA, jars="hbase"),
    memory={"": 768 * _MIB, "heap_bytes": 1.2, "clients": _MIB},
    short=({"records": 5000, "requests": 10_000},),
)
