"""The sensor that sends requests, against a real HTTP server on loopback."""

from __future__ import annotations

import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from aferir.colocation.sensors.probe import Probe
from aferir.colocation.sensors.web import parse_url, question
from aferir.errors import UsageError
from aferir.linux import journal, process
from tests.unit.colocation.sensors.serving import looks_until, say, served
from tests.waiting import eventually


def test_a_probe_learns_the_latency_of_a_service() -> None:
    with served(lambda handler: say(handler, 200)) as url:
        probe = Probe(url, rate=200.0, patience_s=30.0, seed=1)
        look = looks_until(probe, lambda look: look.latencies.total >= 50)
        probe.close()
    assert (look.failed, look.problem) == (0, "")


def test_an_answer_of_more_than_a_socket_holds_is_read_to_its_end() -> None:
    with served(lambda handler: say(handler, 200, "." * (8 << 20))) as url:
        probe = Probe(url, rate=20.0, patience_s=30.0, seed=1)
        look = looks_until(probe, lambda look: look.latencies.total >= 5)
        probe.close()
    assert (look.failed, look.problem) == (0, "")


def test_requests_that_were_due_while_the_service_stood_still_are_counted_from_their_moments() -> (
    None
):
    lock, began = threading.Lock(), list[float]()

    def halting(handler: http.server.BaseHTTPRequestHandler) -> None:
        with lock:
            began.append(time.monotonic())  # with the first request: who asks may be late
            time.sleep(max(0.0, began[0] + 0.6 - time.monotonic()))
        say(handler, 200)

    with served(halting) as url:
        probe = Probe(url, rate=50.0, patience_s=30.0, seed=1)
        look = looks_until(probe, lambda look: look.latencies.total >= 40)
        probe.close()
    # One after another it would be a single slow request; about half of 0.6 s x 50/s waited more
    # than 0.3 s.
    assert look.latencies.above(0.25) >= 5


@pytest.mark.parametrize("status", [404, 500])
def test_a_quick_failure_is_no_quick_answer(status: int) -> None:
    with served(lambda handler: say(handler, status)) as url:
        probe = Probe(url, rate=200.0, patience_s=60.0, seed=1)
        look = looks_until(probe, lambda look: look.failed >= 10)
        probe.close()
    assert look.problem == f"{url}: status {status}"
    assert look.latencies.above(59.0) >= 10


def test_a_redirect_that_cannot_be_followed_is_not_taken_for_the_service() -> None:
    def moved(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(301)
        handler.send_header("Location", "https://127.0.0.1/")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with served(moved) as url:
        probe = Probe(url, rate=200.0, patience_s=60.0, seed=1)
        look = looks_until(probe, lambda look: look.latencies.total >= 5)
        probe.close()
    assert "redirects to https" in look.problem


def test_a_service_that_refuses_and_one_that_never_answers_are_told_apart() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        probe = Probe(f"http://127.0.0.1:{port}/", rate=100.0, patience_s=60.0, seed=1)
        refused = looks_until(probe, lambda look: look.failed >= 5)
        probe.close()
        silent.listen(16)
        probe = Probe(f"http://127.0.0.1:{port}/", rate=100.0, patience_s=0.2, seed=1)
        silence = looks_until(probe, lambda look: look.failed >= 5)
        probe.close()
    assert "refused" in refused.problem
    assert "no answer within 0.2 s" in silence.problem
    assert silence.latencies.above(0.19) >= 5


def test_a_probe_whose_process_ends_says_so_and_asks_again() -> None:
    with served(lambda handler: say(handler, 200)) as url:
        probe = Probe(url, rate=200.0, patience_s=30.0, seed=1)
        (first,) = probe.helpers
        time.sleep(1.1)  # one that has just been begun would be given a moment
        os.kill(first, signal.SIGKILL)
        ended = looks_until(probe, lambda look: look.problem != "")
        look = looks_until(probe, lambda look: look.latencies.total >= 10 and not look.problem)
        assert probe.helpers != (first,)
        probe.close()
    assert "has ended" in ended.problem
    assert look.failed == 0


_ASKS_ON = """
import sys, time
from aferir.colocation.sensors.probe import Probe
probe = Probe(sys.argv[1], rate=1.0)
print(*probe.helpers, flush=True)
time.sleep(1000)
"""


def test_the_probe_ends_with_a_controller_that_is_killed() -> None:
    with served(lambda handler: say(handler, 200)) as url:
        child = process.start([sys.executable, "-c", _ASKS_ON, url], stdout=subprocess.PIPE)
        assert child.stdout is not None
        asks = int(child.stdout.readline())
        assert journal.start_time(asks) is not None
        os.kill(child.pid, signal.SIGKILL)
        process.end(child)
        eventually(lambda: journal.start_time(asks) is None)


def test_urls_are_taken_apart_or_refused() -> None:
    address = parse_url("http://[::1]:81/a?b=c")
    assert (address.host, address.port, address.path) == ("::1", 81, "/a?b=c")
    assert parse_url("http://localhost").path == "/"
    for wrong in (
        "https://x/",
        "x",
        "",
        "http://",
        "http://x:y/",
        "http://x/ y",
        "http://x/\u00e9",
        "http://x:99999/",
    ):
        with pytest.raises(UsageError):
            parse_url(wrong)


@pytest.mark.parametrize(
    ("url", "asked", "host"),
    [
        ("http://localhost/", r"http://(127\.0\.0\.1|\[::1\]):80/", "localhost"),
        ("http://[::1]:81/a?b=c", r"http://\[::1\]:81/a\?b=c", "[::1]:81"),
        ("memcached://127.0.0.1:7/a,b", r"memcached://127\.0\.0\.1:7/a,b", "127.0.0.1:7"),
        ("redis://127.0.0.1:7/a,b", r"redis://127\.0\.0\.1:7/a,b", "127.0.0.1:7"),
    ],
)
def test_the_probe_gets_an_address_and_the_name_as_it_was_written(
    url: str, asked: str, host: str
) -> None:
    found = question(url)
    assert re.fullmatch(asked, found.url)
    assert found.host == host


def test_the_probe_gets_all_addresses_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may listen at the second one alone, as on 127.0.0.1 of a localhost of two."""
    found = [(one, 80) for one in ("fe80::1%1", "::1", "127.0.0.1", "::1")]
    answers = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", one) for one in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    asked = question("http://localhost/")
    assert asked.url == "http://[::1]:80/"
    assert asked.addresses == ("::1", "127.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "memcached://127.0.0.1:7/",
        "memcached://127.0.0.1:7/a,,b",
        "memcached://127.0.0.1:7/" + 251 * "k",
        "memcached:a",
        "redis://127.0.0.1:7/",
        "http://no.such.host.invalid/",
    ],
)
def test_what_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        question(url)
