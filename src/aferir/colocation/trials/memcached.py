"""memcached as a service: each request reads many keys, as web servers do for one page.

Sizes of values follow the pool ETC (Atikoglu et al., SIGMETRICS 2012, section 5); 24 keys per
request follow Nishtala et al., NSDI 2013, section 3.2.1.
"""

from __future__ import annotations

import math
import random
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aferir.colocation.trials.service import LOOPBACK, Running, as_user, wait_for
from aferir.errors import MissingError, ProgramError
from aferir.linux import ports, process
from aferir.machine import packages

_KEYS = 20_000
_KEYS_A_REQUEST = 24
_REQUESTS = 500
_MEMORY_MIB = 128
_MOST_BYTES = 500_000
_SCALE, _SHAPE = 214.476, 0.348238
"""Scale and shape of the generalised Pareto distribution of value sizes in bytes."""
_SKEW = 0.99
"""Exponent of Zipf's law for the popularity of keys, as in YCSB."""
_ANSWERS_S = 30.0


@contextmanager
def running(
    folder: Path, workers: int, addresses: Sequence[str] = (LOOPBACK,)
) -> Iterator[Running]:
    """Start memcached on `addresses`, with all values stored; it is ended afterwards.

    Errors: MissingError if memcached is not installed, ProgramError.
    """
    memcached = shutil.which("memcached", path=packages.search_path())
    if memcached is None:
        raise MissingError("there is no memcached", remedy=packages.install_command(["memcached"]))
    errors = folder / "errors"
    with ports.reserved() as port:
        command = [
            *process.ALONE,
            *as_user(),
            memcached,
            "-l",
            ",".join(addresses),
            "-p",
            str(port),
        ]
        command += ["-U", "0", "-t", str(workers), "-m", str(_MEMORY_MIB), "-c", "4096"]
        with errors.open("w", encoding="utf-8") as file:
            child = process.start(command, stderr=file.fileno())
        try:
            wait_for(child, port, lambda: errors.read_text(encoding="utf-8", errors="replace"))
            draw = random.Random(1)  # noqa: S311 - not cryptography
            _store(port, draw)
            where = f"memcached://{LOOPBACK}:{port}"
            asked = _requests(draw)
            yield Running(
                pid=child.pid,
                latency=f"{where}/{asked[0]}",
                threads=("^mc-worker", "^memcached"),  # the latter accepts connections
                targets=tuple((1.0, f"{where}/{keys}") for keys in asked),
            )
        finally:
            process.end(child)


def value_bytes(draw: random.Random) -> int:
    """Random size of a value in bytes, by inversion of the distribution function."""
    share = 1.0 - draw.random()
    return 1 + int(min(_SCALE * (math.pow(share, -_SHAPE) - 1.0) / _SHAPE, _MOST_BYTES))


def _requests(draw: random.Random) -> list[str]:
    """Comma-separated keys of each kind of request."""
    weights = [1.0 / (rank + 1) ** _SKEW for rank in range(_KEYS)]
    keys = draw.choices(range(_KEYS), weights, k=_REQUESTS * _KEYS_A_REQUEST)
    return [
        ",".join(f"k{key}" for key in keys[first : first + _KEYS_A_REQUEST])
        for first in range(0, len(keys), _KEYS_A_REQUEST)
    ]


def _store(port: int, draw: random.Random) -> None:
    with socket.create_connection((LOOPBACK, port), timeout=_ANSWERS_S) as connection:
        for key in range(_KEYS):
            value = draw.randbytes(value_bytes(draw))
            head = f"set k{key} 0 0 {len(value)} noreply\r\n".encode()
            connection.sendall(head + value + b"\r\n")
        connection.sendall(b"stats\r\nquit\r\n")
        said = b""
        while part := connection.recv(1 << 16):
            said += part
    if b"STAT curr_items %d\r\n" % _KEYS not in said or b"STAT evictions 0\r\n" not in said:
        raise ProgramError(
            "memcached did not keep what it was given",
            remedy=f"it needs {_MEMORY_MIB} MiB; see what else runs here",
        )
