"""Run PostgreSQL as a service, and pgbench at a rate as its load."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import msgspec

from aferir.colocation.trials.load import Asked, Load, Rate, Times, tell
from aferir.colocation.trials.service import LOOPBACK, Running, as_user
from aferir.errors import MissingError, ProgramError
from aferir.linux import ports, process
from aferir.machine import packages
from benchmarks.colocation.server import data_of, loading, log_of, serving

_SCALE = 10
"""Scale of pgbench's tables: 1,000,000 accounts, 160 MB, more than the shared buffers hold."""
_CLIENTS = 4
_USER = "aferir"
_FIELDS = 7
"""Fields of a line of pgbench's log with `--rate` (pgbench(1), Per-Transaction Logging)."""
_SETTINGS = ("log_min_duration_statement=0", "log_checkpoints=off")


def programs() -> Path:
    """Return the folder with PostgreSQL's programs. Errors: MissingError if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    path = shutil.which("postgres", path=":".join(map(str, reversed(found))) or "/usr/lib")
    if path is None or shutil.which("pgbench") is None:
        raise MissingError(
            "there is no PostgreSQL", remedy=packages.install_command(["postgresql", "pgbench"])
        )
    return Path(path).parent


@contextmanager
def running(folder: Path, settings: Iterable[str] = _SETTINGS) -> Iterator[Running]:
    """Start a server with pgbench's tables, which logs each statement with its duration.

    `folder` must be readable by other users. `settings`: of postgresql.conf, as `NAME=VALUE`.
    Errors: MissingError, ProgramError.
    """
    where, data = programs(), data_of(folder)
    initdb = (str(where / "initdb"), "-D", str(data), "-U", _USER, "--auth=trust")
    process.run([*as_user(), *initdb, "--no-sync"], directory=data)
    with ports.reserved() as port:
        chosen = [f"port={port}", f"listen_addresses={LOOPBACK}", "unix_socket_directories="]
        options = [word for one in (*chosen, *settings) for word in ("-c", one)]
        with serving([str(where / "postgres"), "-D", str(data), *options], folder, port) as child:
            process.run(["pgbench", *_connection(port), "-i", "-q", "-s", str(_SCALE), "postgres"])
            latency = f"postgresql:{log_of(folder)}"
            yield Running(pid=child.pid, latency=latency, targets=((1.0, str(port)),))


class _Pgbench(msgspec.Struct, frozen=True):
    """A process of pgbench that waits until `begin` is called."""

    child: Popen[str]
    prefix: Path
    """Beginning of the path of its log."""
    times: Times

    def begin(self) -> None:
        """See `Waiting`; writes the time at which the load begins, in seconds since 1970."""
        self.prefix.with_suffix(".begun").write_text(f"{time.time()}", encoding="ascii")
        tell(self.child)

    def result(self) -> Load:
        """See `Waiting`."""
        _, errors = self.child.communicate()
        if self.child.returncode != 0:
            raise ProgramError(f"pgbench failed: {errors.strip()[-300:]}")
        begun_s = float(self.prefix.with_suffix(".begun").read_text(encoding="ascii"))
        logs = self.prefix.parent.glob(f"{self.prefix.name}.[0-9]*")
        lines = [line for log in logs for line in log.read_text(encoding="ascii").splitlines()]
        return Load(asked=transactions(lines, begun_s, self.times), healthy=True, failed=0)


def transactions(lines: Iterable[str], begun_s: float, times: Times) -> tuple[Asked, ...]:
    """Read pgbench's log: transactions that were due after the warm-up, from that moment on.

    `begun_s`: when the load began, in seconds since 1970. A transaction's status is 0.
    """
    rows = (line.split() for line in lines)
    read = (
        (float(row[4]) + float(row[5]) / 1e6 - begun_s, float(row[2]) / 1e6)
        for row in rows
        if len(row) == _FIELDS and row[2].isdigit()
    )
    found = (Asked(ended - took, took, 0, 0) for ended, took in read)
    return tuple(one for one in found if one.intended_s >= times.warm_up_s)


@contextmanager
def pgbench(
    service: Running, rate: Rate, times: Times, seed: int, folder: Path
) -> Iterator[_Pgbench]:
    """Start pgbench with its transaction `simple-update`, `rate` a second. Errors: ProgramError."""
    prefix, port = folder / "pgbench", int(service.targets[0][1])
    seconds = round(times.warm_up_s + times.measured_s)
    words = ["pgbench", *_connection(port), "-n", "-N", "-c", str(_CLIENTS), "-j", "1"]
    words += ["-R", str(rate), "-T", str(seconds), f"--random-seed={seed}"]
    with loading([*words, "-l", f"--log-prefix={prefix}", "postgres"]) as child:
        yield _Pgbench(child, prefix, times)


def _connection(port: int) -> tuple[str, ...]:
    return ("-h", LOOPBACK, "-p", str(port), "-U", _USER)
