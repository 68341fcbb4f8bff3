"""On-line transactions of a brokerage on MariaDB, after TPC-E."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from aferir.programs.stores.inside import mariadb
from aferir.programs.stores.inside.outcome import FailedError, Figures, WrongError
from aferir.programs.stores.inside.workplace import Child, Workplace

PROGRAM = "oltp"


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of this program."""
    parser.add_argument("--client", required=True)
    for name in ("customers", "terminals", "transactions", "settle", "buffer-bytes", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)


def run(given: Namespace, place: Workplace) -> Figures:
    """Load, settle, run, and check. Errors: FailedError, WrongError."""
    clock = time.perf_counter()
    server = mariadb.start(place, buffer_bytes=given.buffer_bytes, connections=given.terminals)
    common = [given.client, "--customers", str(given.customers)]
    terminals = [*common, "--terminals", str(given.terminals)]
    own = ["--seed", str(given.seed)]
    loaded = ask(place, server, [*common, *own, "--load"])
    books: list[str] = []
    if given.settle:
        other = ["--seed", str(given.seed - 1), "--transactions", str(given.settle)]
        books = _books(ask(place, server, [*terminals, *other]))
    setup_s = time.perf_counter() - clock
    before = mariadb.account(server)
    counts = ["--transactions", str(given.transactions)]
    done = ask(place, server, [*terminals, *own, *counts, *books])
    used = mariadb.account(server).since(before)
    return Figures(
        duration_s=done.pop("duration_s"),
        requests=done.pop("requests"),
        bytes_read=used.read,
        bytes_written=used.written,
        setup_s=setup_s,
        cpu=used.cpu,
        others={**done, "data_hash": loaded["data_hash"]},
    )


def _books(done: dict[str, Any]) -> list[str]:
    """Options that tell a client how many orders earlier ones entered, completed and canceled."""
    kinds = ("ordered", "completed", "canceled")
    return [word for kind in kinds for word in (f"--{kind}", str(done[kind]))]


def ask(place: Workplace, server: Child, command: list[str]) -> dict[str, Any]:
    """Run a client; returns the line that it prints.

    Errors: FailedError, with the server's reason if it has ended; WrongError if the client found
    wrong data.
    """
    client = place.start([*command, "--socket", mariadb.SOCKET], name="oltp-clients")
    try:
        client.wait()
    except FailedError:
        line = _last(client)
        if line.get("verified") is False:
            raise WrongError(str(line["error"])) from None
        server.ensure_stays_alive()
        raise
    return {
        key: value for key, value in _last(client).items() if key not in ("program", "verified")
    }


def _last(client: Child) -> dict[str, Any]:
    lines = client.log.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}
