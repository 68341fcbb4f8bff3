"""A client for JSON over a UNIX socket, one message a line: QEMU's monitor and the guest agent."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from aferir.errors import ProgramError
from aferir.linux import wait

_SENTINEL = b"\xff"
"""Byte that makes the agent's parser discard an incomplete message; the answer to a sync starts
with it too.
"""


class JsonSocket:
    """One connection; requests and answers alternate, whichever thread calls."""

    def __init__(self, path: Path, connected: socket.socket | None = None) -> None:
        """Prepare a connection to the socket at `path`, or use one end of a pair of sockets."""
        self._socket = connected or socket.socket(socket.AF_UNIX)
        self._path = path
        self._buffer = b""
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, timeout_s: float) -> None:
        """Wait until the socket accepts the connection. Errors: ProgramError after `timeout_s`."""
        nobody = (FileNotFoundError, ConnectionRefusedError)
        try:
            wait.until_it_works(
                lambda: self._socket.connect(str(self._path)),
                nobody,
                wait.after(timeout_s),
                period_s=0.002,
            )
        except nobody:
            raise ProgramError(f"nobody listens on {self._path.name}") from None

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._socket.close()

    def ask(
        self, command: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> Any:
        """The `return` value of one command; events in between are skipped.

        Errors: ProgramError if the answer is an error, late or unreadable.
        """
        with self._turn:
            self._send({"execute": command, "arguments": dict(arguments or {})})
            deadline_s = wait.after(timeout_s)
            while True:
                answer = self._receive(deadline_s, command)
                if "error" in answer:
                    described = answer["error"].get("desc", answer["error"])
                    raise ProgramError(f"QEMU's `{command}` failed: {described}")
                if "return" in answer:
                    return answer["return"]

    def greet(self, timeout_s: float) -> None:
        """Complete the handshake of QEMU's monitor (QMP), which sends a greeting first."""
        self._receive(wait.after(timeout_s), "the greeting")
        self.ask("qmp_capabilities", timeout_s=timeout_s)

    def synchronise(self, number: int, timeout_s: float) -> None:
        """Wait until the guest agent answers; requests before this one are discarded.

        The request waits in the socket until the agent opens its port, so that sending it once
        suffices. Errors: ProgramError after `timeout_s`.
        """
        self._send(
            {"execute": "guest-sync-delimited", "arguments": {"id": number}}, prefix=_SENTINEL
        )
        deadline_s = wait.after(timeout_s)
        while self._receive(deadline_s, "guest-sync-delimited").get("return") != number:
            pass

    def _send(self, message: Mapping[str, Any], *, prefix: bytes = b"") -> None:
        try:
            self._socket.settimeout(30.0)
            self._socket.sendall(prefix + json.dumps(message).encode() + b"\n")
        except TimeoutError:
            raise ProgramError("the guest does not listen any more") from None
        except OSError as error:
            raise ProgramError(f"the guest is gone: {error}") from None

    def _receive(self, deadline_s: float, waiting_for: str) -> dict[str, Any]:
        """Next message. An incomplete line stays in the buffer for the next call."""
        while b"\n" not in self._buffer:
            self._socket.settimeout(max(wait.left_s(deadline_s), 0.001))
            try:
                part = self._socket.recv(1 << 16)
            except TimeoutError:
                raise ProgramError(f"the guest did not answer `{waiting_for}` in time") from None
            except OSError as error:
                raise ProgramError(f"the guest is gone: {error}") from None
            if not part:
                raise ProgramError(f"the guest is gone; it was asked for `{waiting_for}`")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line.rpartition(_SENTINEL)[2])
        except ValueError:
            raise ProgramError(f"the guest answered `{waiting_for}` unreadably") from None
        return message if isinstance(message, dict) else {}
