"""On-line transactions on MariaDB: a brokerage after TPC-E, and sysbench's mix."""

from __future__ import annotations

from typing import Annotated

from aferir.model.parameters import size, whole
from aferir.programs.stores.store import Needs, Store, StoreParameters

_MIB = 2**20
_CLIENT = "oltp-clients"
_SERVER = ("mariadbd", "mariadb-install-db", "my_print_defaults")
_PACKAGES = ("libmariadb3", "mariadb-client-core", "mariadb-server-core")
_MEMORY = {"": 192 * _MIB, "buffer_bytes": 1.2, "terminals": _MIB}
_KINDS = (
    *("trade_order", "trade_result", "trade_lookup", "trade_update", "trade_status"),
    *("customer_position", "broker_volume", "security_detail", "market_feed", "market_watch"),
)


class MariadbParameters(StoreParameters, frozen=True, kw_only=True):
    """Parameters of the server and of its clients."""

    terminals: Annotated[int, whole("concurrent sessions", 1, 4096)] = 8
    transactions: Annotated[int, whole("transactions of all terminals together", 1, 10**9)] = 10_000
    settle: Annotated[
        int,
        whole("transactions before those that are measured, which are a window then", 0, 10**9),
    ] = 0
    buffer_bytes: Annotated[
        int,
        size(
            "size of InnoDB's buffer pool; reads reach the disk if it is smaller than the data",
            8 * _MIB,
            2**45,
        ),
    ] = 16 * _MIB
    seed: Annotated[
        int, whole("seed of the data and of the terminals' random numbers", 1, 2**31)
    ] = 1


class OltpParameters(MariadbParameters, frozen=True, kw_only=True):
    """Parameters of MariaDB, and of the brokerage's data and terminals."""

    customers: Annotated[int, whole("5 accounts, 20 holdings and 50 trades each", 1, 10**8)] = 2000


class OltpSysbenchParameters(MariadbParameters, frozen=True, kw_only=True):
    """Parameters of the server, and of sysbench's tables."""

    tables: Annotated[int, whole("tables of the database", 1, 1024)] = 2
    rows: Annotated[int, whole("rows of each table", 1, 10**9)] = 100_000


OLTP = Store(
    "oltp",
    OltpParameters,
    needs=Needs(_SERVER, _PACKAGES, client=_CLIENT, client_package="libmariadb-dev"),
    memory=_MEMORY,
    short=({"customers": 1000},),
    metrics={"retries": "1", "latency_p95_s": "s", **dict.fromkeys(_KINDS, "1")},
)
OLTP_SYSBENCH = Store(
    "oltp-sysbench",
    OltpSysbenchParameters,
    needs=Needs(
        (*_SERVER, "sysbench"),
        (*_PACKAGES, "sysbench"),
        client=_CLIENT,
        client_package="libmariadb-dev",
    ),
    memory=_MEMORY,
    short=({"rows": 20_000, "transactions": 2000},),
)
