"""Serves a run's metrics by HTTP on the loopback interface, for a Prometheus on this machine.

The guard serves them, so that a scrape delays no decision and a killed controller is still
reported while everything is restored. The controller holds the listening socket and passes it on to
each guard; it replaces the file that is served once a second. Source: OpenMetrics 1.0.
"""

from __future__ import annotations

import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from aferir.colocation.guard import ADDRESS, METRICS

_MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_SILENCE_S = 30
"""Seconds after which a connection without a request is closed."""


def serve(handle: int, file: Path) -> None:
    """Serve the file in a thread that ends with the process.

    `handle`: file descriptor of a listening socket, which this process inherited.
    """
    server = _Server(socket.socket(fileno=handle), file)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class _Server(ThreadingHTTPServer):
    """HTTP server of one file on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, file: Path) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.file = file


class _Handler(BaseHTTPRequestHandler):
    """Handler of one connection."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "aferir"
    sys_version = ""
    timeout = _SILENCE_S

    def do_GET(self) -> None:
        """Answer with the metrics."""
        status, body = self._found()
        self.send_response(status)
        self.send_header("Content-Type", _MEDIA_TYPE if status is HTTPStatus.OK else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing: the guard has no terminal."""

    def _found(self) -> tuple[HTTPStatus, bytes]:
        """Return status and body; requests by names of other hosts are refused (DNS rebinding)."""
        port = self.server.server_address[1]
        if self.headers.get("Host", "") not in {f"{ADDRESS}:{port}", f"localhost:{port}"}:
            return HTTPStatus.MISDIRECTED_REQUEST, b"This is not the host of that name.\n"
        if self.path != METRICS:
            return HTTPStatus.NOT_FOUND, f"The metrics are at {METRICS}.\n".encode()
        try:
            return HTTPStatus.OK, self.server.file.read_bytes()
        except OSError:
            return HTTPStatus.SERVICE_UNAVAILABLE, b"The controller has not decided yet.\n"
