"""Serves the pages by HTTP on the loopback interface, to those who have the token."""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from aferir.errors import RefusedError
from aferir.serve import pages
from aferir.serve.site import Answer, Site

ADDRESS = "127.0.0.1"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of all responses. Styles may be inline, since charts have style attributes. Nothing is
loaded from elsewhere, and the token, which is a part of the address, is sent to no other site.
"""
_SILENCE_S = 30
"""Seconds after which a connection without a request is closed."""


class Server(ThreadingHTTPServer):
    """HTTP server of one folder of runs."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        """Listen on a port of 127.0.0.1; 0: a free one. Errors: RefusedError if it is in use."""
        self.site = Site(folder, served=True)
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as reason:
            raise RefusedError(
                f"port {port} of {ADDRESS} cannot be listened on: {reason}",
                remedy="name another with --port, or none for a free one",
            ) from None

    @property
    def url(self) -> str:
        """Address of the list of runs, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def is_ours(self, host: str) -> bool:
        """Whether a `Host` header names this server.

        A foreign page's script could reach it by another name that resolves to 127.0.0.1 (DNS
        rebinding).
        """
        return host in {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    """Handler of one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "aferir"
    sys_version = ""
    timeout = _SILENCE_S

    def do_GET(self) -> None:
        """Answer with the requested page."""
        self._send(*self._found())

    def do_HEAD(self) -> None:
        """Answer a HEAD request: the headers that GET would return, without a body."""
        self._send(*self._found(), body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing: the address has the token."""

    def _found(self) -> tuple[HTTPStatus, Answer]:
        if not self.server.is_ours(self.headers.get("Host", "")):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST, "This is not the host of that name.")
        try:
            address = urlsplit(self.path)
        except ValueError:  # e.g. http://[
            return _refusal(HTTPStatus.BAD_REQUEST, "This is no address.")
        token, slash, path = address.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            return _refusal(
                HTTPStatus.FORBIDDEN, "The address lacks the token that `aferir serve` printed."
            )
        answer = self.server.site.answer(path, parse_qs(address.query))
        return HTTPStatus.OK if answer.found else HTTPStatus.NOT_FOUND, answer

    def _send(self, status: HTTPStatus, answer: Answer, *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if body:
            self.wfile.write(answer.content)

    def handle(self) -> None:
        """Serve the connection until the other side closes it, which is no error."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


def _refusal(status: HTTPStatus, message: str) -> tuple[HTTPStatus, Answer]:
    page = pages.problem(status.phrase, message).encode()
    return status, Answer(page, "text/html; charset=utf-8", found=False)
