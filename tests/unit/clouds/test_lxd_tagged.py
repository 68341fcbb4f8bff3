"""Instances of LXD found by their tags, on a socket that answers as LXD's does."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aferir.cli import main
from aferir.clouds import known, lxd
from aferir.linux import journal
from aferir.model.cloud import Wanted


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    instances: dict[str, dict[str, str]]
    """Settings of each instance by its name."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def address_string(self) -> str:
        return "a local process"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, name = self.path.partition("?")[0], self.path.split("/")[-1]
        found: Any = {"id": "1", "status": "Success", "err": ""}
        if path == "/1.0/instances":
            found = [{"name": a, "config": b} for a, b in self.server.instances.items()]
        elif path.startswith("/1.0/instances/") and self.command == "GET":
            found = {"status": "Stopped"}
        elif self.command == "DELETE":
            del self.server.instances[name]
        body = json.dumps({"type": "sync", "metadata": found}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LXD_SOCKET", str(tmp_path / "s"))
    with _Server(str(tmp_path / "s"), _Handler) as made:
        made.instances = {}
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


def tags(identity: str, owner: str) -> dict[str, str]:
    return {lxd.TAG: identity, lxd.OWNER_TAG: owner}


def test_what_no_entry_announces_is_removed_if_it_is_ours(
    server: _Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = journal.write(lxd.KIND, {"socket": str(tmp_path / "s")})
    lives, lost, other = lxd.name_of(entry), "aferir-0123456789ab", "aferir-ba9876543210"
    server.instances = {
        lives: tags(entry.id, known.owner()),
        lost: tags("0123456789ab", known.owner()),
        other: tags("ba9876543210", "0badcafe"),
        "aferir-production": {},
        "copy-of-one": tags("0123456789ab", known.owner()),
    }
    kept = [name for name in server.instances if name != lost]
    known.remember(Wanted(provider="lxd", image="node"), str(tmp_path / "s"))
    assert main(["clean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == [f"instance {lost}"]
    assert list(server.instances) == kept
    path = tmp_path / "cloud.toml"
    path.write_text('provider = "lxd"\nimage = "node"\n')
    assert main(["clean", "--cloud", str(path)]) == 0
    assert f"left alone: instance {other}" in capsys.readouterr().out
    assert main(["clean", "--cloud", str(path), "--of-others"]) == 0
    assert list(server.instances) == [name for name in kept if name != other]
    journal.erase(entry)


def test_a_server_that_is_down_is_a_problem_and_stays_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    known.remember(Wanted(provider="lxd", image="node"), str(tmp_path / "none"))
    for _ in range(2):
        assert main(["clean"]) == 1
        assert "LXD does not answer" in capsys.readouterr().out
