"""sysbench's own mix of reads and writes on MariaDB."""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser, Namespace

from aferir.programs.stores.inside import mariadb
from aferir.programs.stores.inside.outcome import FailedError, Figures, WrongError
from aferir.programs.stores.inside.workplace import Workplace

PROGRAM = "oltp-sysbench"


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of this program."""
    parser.add_argument("--client", required=True)
    for name in ("tables", "rows", "terminals", "transactions", "settle", "buffer-bytes", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)


def run(given: Namespace, place: Workplace) -> Figures:
    """Prepare, settle, run, and check. Errors: FailedError, WrongError."""
    clock = time.perf_counter()
    server = mariadb.start(place, buffer_bytes=given.buffer_bytes, connections=given.terminals)
    place.run([*_asking(given), "CREATE DATABASE sbtest"])
    base = [
        *("sysbench", "oltp_read_write", "--db-driver=mysql", "--mysql-user=root"),
        *(f"--mysql-socket={mariadb.SOCKET}", f"--tables={given.tables}"),
        *(f"--table-size={given.rows}", f"--rand-seed={given.seed}"),
    ]
    place.run([*base, "prepare"])
    limits = [f"--threads={given.terminals}", "--time=0"]
    if given.settle:
        place.run([*base, *limits, f"--events={given.settle}", "run"])
    limits.append(f"--events={given.transactions}")
    setup_s = time.perf_counter() - clock
    before = mariadb.account(server)
    try:
        said = place.run([*base, *limits, "run"])
    except FailedError:
        server.ensure_stays_alive()
        raise
    used = mariadb.account(server).since(before)
    duration_s, transactions = read_report(said)
    if transactions != given.transactions:
        raise WrongError(f"{transactions} of {given.transactions} transactions were done")
    _check_rows(given, place)
    return Figures(
        duration_s=duration_s,
        requests=transactions,
        bytes_read=used.read,
        bytes_written=used.written,
        setup_s=setup_s,
        cpu=used.cpu,
    )


def read_report(said: str) -> tuple[float, int]:
    """Seconds and transactions from sysbench's report. Errors: FailedError."""
    time_s = re.search(r"total time:\s+([\d.]+)s", said)
    transactions = re.search(r"transactions:\s+(\d+)", said)
    if time_s is None or transactions is None:
        raise FailedError("sysbench printed no report")
    return float(time_s[1]), int(transactions[1])


def _check_rows(given: Namespace, place: Workplace) -> None:
    """Check the rows: each transaction deletes one row and inserts one with the same key."""
    for table in range(1, given.tables + 1):
        query = f"SELECT COUNT(*) * (MAX(id) = COUNT(*)) FROM sbtest.sbtest{table}"  # noqa: S608
        found = int(place.run([*_asking(given), query]))
        if found != given.rows:
            raise WrongError(f"table {table} has not the rows 1 to {given.rows}")


def _asking(given: Namespace) -> list[str]:
    return [given.client, "--socket", mariadb.SOCKET, "--ask"]
