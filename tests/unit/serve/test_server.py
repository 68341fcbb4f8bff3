"""The server answers only requests that have the token and use its own name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from aferir.errors import RefusedError
from aferir.serve.server import ADDRESS, Server
from tests.unit.store.many_runs import make


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("runs")
    make(folder, 2)
    with Server(folder, 0) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: Server, path: str, *, host: str = "", method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection(ADDRESS, server.server_port)
    host = host or f"{ADDRESS}:{server.server_port}"
    connection.request(method, path, headers={"Host": host})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def test_pages_are_behind_the_token(server: Server) -> None:
    assert ask(server, f"/{server.token}/")[0] == 200
    assert ask(server, f"/{server.token}/run/made-up-001/index.html")[0] == 200
    for path in ("/", "/index.html", f"/{server.token}", f"/{server.token[:-1]}/", "/../", "/%C3/"):
        status, _, content = ask(server, path)
        assert (status, b"made-up" in content) == (403, False)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_other_names_of_the_same_address_are_refused(server: Server, host: str) -> None:
    assert ask(server, f"/{server.token}/", host=host)[0] == 421


def test_localhost_is_a_name_of_ours(server: Server) -> None:
    assert ask(server, f"/{server.token}/", host=f"localhost:{server.server_port}")[0] == 200


def test_pages_load_nothing_from_elsewhere_and_tell_nobody_the_address(server: Server) -> None:
    _, headers, content = ask(server, f"/{server.token}/")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert b"http://" not in content
    assert b"https://" not in content


def test_a_head_has_no_content_and_other_methods_are_not_there(server: Server) -> None:
    status, headers, content = ask(server, f"/{server.token}/", method="HEAD")
    assert (status, content) == (200, b"")
    assert int(headers["Content-Length"]) > 1000
    assert ask(server, f"/{server.token}/", method="POST")[0] == 501


def test_an_address_that_is_none_is_answered(server: Server) -> None:
    status, _, content = ask(server, "http://[")
    assert (status, b"This is no address" in content) == (400, True)


def test_what_is_not_there_is_a_page_that_says_so(server: Server) -> None:
    status, _, content = ask(server, f"/{server.token}/run/none/index.html")
    assert (status, b"There is no run none" in content) == (404, True)


def test_a_port_in_use_is_refused_with_a_remedy(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be listened on") as refused:
        Server(tmp_path, server.server_port)
    assert "--port" in refused.value.remedy
