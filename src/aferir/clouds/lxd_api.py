"""LXD's REST API on a Unix socket (documentation: doc/rest-api.md of LXD 5)."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from aferir.errors import MissingError, ProgramError

_ANSWER_LIMIT_S = 60.0
OPERATION_LIMIT_S = 120


def ask(path: Path, method: str, target: str, body: Any = None) -> Any:
    """Send one request; returns the `metadata` of the response.

    Errors: OSError if the server does not answer, MissingError or ProgramError with LXD's message.
    """
    connection = _Connection(path)
    try:
        if isinstance(body, dict):
            connection.request(method, target, json.dumps(body))
        else:
            connection.request(
                method, target, body, headers={"Content-Type": "application/octet-stream"}
            )
        answer = json.loads(connection.getresponse().read())
    except (http.client.HTTPException, ValueError) as error:
        raise ProgramError(f"LXD's answer to {method} {target} is no answer: {error}") from None
    finally:
        connection.close()
    if answer["type"] == "error":
        kind = NotThereError if answer["error_code"] == http.HTTPStatus.NOT_FOUND else ProgramError
        raise kind(f"LXD refused {method} {target}: {answer['error']}")
    return answer["metadata"]


class NotThereError(MissingError):
    """LXD has answered with status 404: there is no such object."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("lxd", timeout=_ANSWER_LIMIT_S + OPERATION_LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def do(path: Path, method: str, target: str, body: Any = None) -> dict[str, Any]:
    """Send a request that starts an operation, and wait until the operation ends."""
    started = ask(path, method, target, body)
    wait = f"/1.0/operations/{started['id']}/wait?timeout={OPERATION_LIMIT_S}"
    done: dict[str, Any] = ask(path, "GET", wait)
    if done["status"] != "Success":
        raise ProgramError(f"LXD: {method} {target}: {done['err'] or done['status']}")
    return done
