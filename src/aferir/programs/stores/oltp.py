"""On-line transactions on MariaDB: a brokerage after TPC-E, and sysbench's mix."""

from __future__ import annotations

from aferir.programs.stores.store import Needs, Option, StoreWorkload

_MIB = 2**20
_CLIENT = "oltp-clients"
_SERVER = ("mariadbd", "mariadb-install-db", "my_print_defaults")
_PACKAGES = ("libmariadb3", "mariadb-client-core", "mariadb-server-core")
_COMMON = (
    Option("terminals", 8, 1, 4096),
    Option("transactions", 10_000, 1, 10**9),
    Option("buffer_bytes", 16 * _MIB, 8 * _MIB, 2**45),
    Option("seed", 1, 1, 2**31),
)
_MEMORY = {"": 192 * _MIB, "buffer_bytes": 1.2, "terminals": _MIB}
_KINDS = (
    *("trade_order", "trade_result", "trade_lookup", "trade_update", "trade_status"),
    *("customer_position", "broker_volume", "security_detail", "market_feed", "market_watch"),
)

OLTP = StoreWorkload(
    "oltp",
    options=(Option("customers", 2000, 1, 10**8), *_COMMON),
    needs=Needs(_SERVER, _PACKAGES, client=_CLIENT, client_package="libmariadb-dev"),
    memory=_MEMORY,
    short=({"customers": 1000},),
    metrics={"retries": "1", "latency_p95_s": "s", **dict.fromkeys(_KINDS, "1")},
)
OLTP_SYSBENCH = StoreWorkload(
    "oltp-sysbench",
    options=(Option("tables", 2, 1, 1024), Option("rows", 100_000, 1, 10**9), *_COMMON),
    needs=Needs(
        (*_SERVER, "sysbench"),
        (*_PACKAGES, "sysbench"),
        client=_CLIENT,
        client_package="libmariadb-dev",
    ),
    memory=_MEMORY,
    short=({"rows": 20_000, "transactions": 2000},),
)
