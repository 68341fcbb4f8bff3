"""A counterpart of OpenStack, which does not run here: Keystone, Nova, Glance and Neutron as far as
servers are made, looked at and deleted (their API references). It does not show a server in the
first `hidden` answers, and answers each request of `errors` with an error first.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_TOKEN = "t"  # noqa: S105 - of a stand-in
_SERVICES = {"compute": "/compute/v2.1", "image": "/image", "network": "/network"}


class OpenStackServer:
    """State of the simulated cloud, and its responses."""

    def __init__(self) -> None:
        self.servers: dict[str, str] = {}
        """Id to name."""
        self.hidden = 0
        self.errors: list[tuple[str, int, dict[str, str]]] = []
        """Beginning of method and path, status and headers."""
        self.asked: list[str] = []
        self.user_data: list[str] = []
        """User data of each server, as the request had it."""
        self.url = ""

    def answer(self, method: str, path: str, body: str) -> tuple[int, Any, dict[str, str]]:
        """Status, content and headers."""
        self.asked.append(f"{method} {path}")
        for error in self.errors:
            if f"{method} {path}".startswith(error[0]):
                self.errors.remove(error)
                if method == "POST" and path.endswith("/servers"):
                    self._make(body)  # made, though the answer tells of a fault
                return error[1], {"error": {"message": "a fault of the field"}}, error[2]
        place, _, query = path.partition("?")
        if place.startswith("/v3"):
            return self._keystone(method, place)
        if place.startswith("/compute/v2.1/servers"):
            return self._nova(method, place.removeprefix("/compute/v2.1/servers"), query, body)
        return self._others(place)

    def _keystone(self, method: str, place: str) -> tuple[int, Any, dict[str, str]]:
        if method == "GET":
            links = [{"rel": "self", "href": f"{self.url}/v3/"}]
            return 200, {"version": {"id": "v3.14", "status": "stable", "links": links}}, {}
        assert place == "/v3/auth/tokens"
        catalog = [
            {"type": kind, "name": kind, "id": kind, "endpoints": [
                {"interface": "public", "region": "here", "region_id": "here", "id": kind,
                 "url": self.url + where}
            ]}
            for kind, where in _SERVICES.items()
        ]  # fmt: skip
        token = {
            "methods": ["password"],
            "expires_at": "2100-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "project": {"id": "p", "name": "p", "domain": {"id": "default", "name": "Default"}},
            "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "catalog": catalog,
        }
        return 201, {"token": token}, {"X-Subject-Token": _TOKEN}

    def _nova(
        self, method: str, rest: str, query: str, body: str
    ) -> tuple[int, Any, dict[str, str]]:
        if method == "POST":
            return 202, {"server": {"id": self._make(body), "links": []}}, {}
        shown = {} if self.hidden else self.servers
        if method == "GET":
            self.hidden = max(0, self.hidden - 1)
        identity = rest.strip("/")
        if identity in ("", "detail"):
            found = re.search(r"name=([^&]*)", query)
            wanted = found[1].replace("%5E", "^").replace("%24", "$") if found else ""
            listed = [self._server(one) for one, name in shown.items() if re.search(wanted, name)]
            return 200, {"servers": listed}, {}
        if identity not in shown:
            return 404, {"itemNotFound": {"message": f"Instance {identity} not found."}}, {}
        if method == "DELETE":
            del self.servers[identity]
            return 204, None, {}
        return 200, {"server": self._server(identity)}, {}

    def _others(self, place: str) -> tuple[int, Any, dict[str, str]]:
        links = [{"rel": "self", "href": self.url + place.rstrip("/") + "/"}]
        v21 = {"id": "v2.1", "status": "CURRENT", "version": "2.90", "min_version": "2.1"}
        known: dict[str, Any] = {
            "/compute/v2.1": {"version": {**v21, "links": links}},
            "/compute": {"versions": [{**v21, "links": links}]},
            "/compute/v2.1/flavors/small": {"flavor": {"id": "small", "name": "small"}},
            "/image": {"versions": [{"id": "v2.9", "status": "CURRENT", "links": [
                {"rel": "self", "href": f"{self.url}/image/v2/"}]}]},
            "/image/v2/images/node": {"id": "node", "name": "node", "status": "active"},
        }  # fmt: skip
        found = known.get(place.rstrip("/"))
        return (404, {"message": "there is none"}, {}) if found is None else (200, found, {})

    def _make(self, body: str) -> str:
        identity = f"s{len(self.servers) + 1}"
        asked = json.loads(body)["server"]
        self.servers[identity] = asked["name"]
        self.user_data.append(asked.get("user_data", ""))
        return identity

    def _server(self, identity: str) -> dict[str, Any]:
        fixed = {"addr": "127.0.0.1", "version": 4, "OS-EXT-IPS:type": "fixed"}
        return {
            "id": identity,
            "name": self.servers[identity],
            "status": "ACTIVE",
            "addresses": {"net": [fixed]},
            "links": [],
        }


@contextlib.contextmanager
def openstack_server() -> Iterator[OpenStackServer]:
    """Serve on the loopback until the block ends."""
    cloud = OpenStackServer()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, content, headers = cloud.answer(self.command, self.path, body)
            text = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - so the library finds them

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield cloud
        finally:
            server.shutdown()
            thread.join()
