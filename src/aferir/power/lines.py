"""Requests to a daemon over TCP, limited in time and size."""

from __future__ import annotations

import socket
from collections.abc import Callable

from aferir.linux import wait
from aferir.power.base import PowerError

TIMEOUT_S = 5.0
MOST_BYTES = 1 << 20


def ask(
    host: str, port: int, question: bytes, complete: Callable[[bytes], bool], *, what: str
) -> bytes:
    """Send `question` and read until `complete`. Errors: PowerError naming `what`."""
    received = b""
    deadline_s = wait.after(TIMEOUT_S)
    try:
        with socket.create_connection((host, port), TIMEOUT_S) as connection:
            connection.sendall(question)
            while not complete(received):
                connection.settimeout(max(0.001, wait.left_s(deadline_s)))
                part = connection.recv(65536)
                if not part or len(received) > MOST_BYTES:
                    raise PowerError(f"{what} at {host}:{port} broke off in the middle")
                received += part
    except OSError as error:
        raise PowerError(
            f"{what} at {host}:{port} does not answer: {error.strerror or error}",
            remedy="is it running, and does it listen there?",
        ) from None
    return received
