"""Key-value stores under YCSB: Berkeley DB Java Edition."""

from __future__ import annotations

from aferir.workloads.stores.store import Needs, Option, StoreWorkload

_MIB = 2**20

KEY_VALUE = StoreWorkload(
    "key-value",
    options=(
        Option("records", 20_000, 1, 10**10),
        Option("requests", 50_000, 1, 10**10),
        Option("clients", 8, 1, 4096),
        Option("fields", 10, 1, 1000),
        Option("field_bytes", 1000, 1, _MIB),
        Option("reads", 0.5, 0.0, 1.0),
        Option("cache_bytes", 32 * _MIB, _MIB, 2**45),
    ),
    needs=Needs(("java",), ("default-jre-headless",), jars="key-value"),
    memory={"": 512 * _MIB, "cache_bytes": 1.5, "clients": _MIB},
    short=({"records": 5000, "requests": 10_000},),
)
