"""The sensor that scrapes a histogram, against a real HTTP server on loopback."""

from __future__ import annotations

import http.server
import socket
import time

import pytest

from aferir.colocation.sensors.prometheus import PrometheusSensor
from tests.unit.colocation.sensors.serving import looks_until, say, served


def test_a_prometheus_endpoint_gives_what_came_since_the_first_scrape() -> None:
    scrapes = iter(range(10**6))

    def metrics(handler: http.server.BaseHTTPRequestHandler) -> None:
        count = 10**9 + 10 * next(scrapes)
        say(handler, 200, f't_bucket{{le="0.1"}} {count}\nt_bucket{{le="+Inf"}} {count}\n')

    with served(metrics) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02, least_bound_s=0.05)
        look = looks_until(sensor, lambda look: look.latencies.total >= 30)
        sensor.close()
    assert look.problem == ""
    assert look.latencies.total % 10 == 0
    assert look.latencies.total < 10**9


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_endpoint_that_has_moved_is_followed(status: int) -> None:
    def moved(handler: http.server.BaseHTTPRequestHandler) -> None:
        if handler.path != "/metrics/":
            handler.send_response(status)
            handler.send_header("Location", "/metrics/")
            handler.end_headers()
        else:
            say(handler, 200, 't_bucket{le="1"} 1\nt_bucket{le="+Inf"} 1\n')

    with served(moved) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda look: "not scraped" not in look.problem)
        sensor.close()
    assert look.problem == ""


def test_an_endpoint_that_moves_for_ever_is_a_problem() -> None:
    def moved(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", handler.path)
        handler.end_headers()

    with served(moved) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda look: "not scraped" not in look.problem)
        sensor.close()
    assert "redirects" in look.problem


def test_what_a_scrape_that_was_cut_off_left_out_is_not_new_afterwards() -> None:
    scrapes: list[int] = []

    def metrics(handler: http.server.BaseHTTPRequestHandler) -> None:
        scrape = len(scrapes)
        scrapes.append(scrape)
        body = "".join(
            f't_bucket{{path="{path}",le="{bound}"}} {1000 + scrape}\n'
            for path in "ab"
            for bound in ("0.5", "+Inf")
        )
        handler.send_response(200)
        if scrape % 3 == 1:
            handler.send_header("Content-Length", str(len(body)))
            body = body[:70]
        elif scrape % 3 == 2:
            body = body[: body.index("b")]  # without a length it ends like a whole one
        handler.end_headers()
        handler.wfile.write(body.encode())

    with served(metrics) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda _: len(scrapes) > 60)
        sensor.close()
    assert 0 < look.latencies.total < 1000


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('# TYPE t summary\nt{quantile="0.5"} 1\n', "t is a summary"),
        ('t_bucket{le="1"} 1\nt_bucket{le="+Inf"} 1\nt_bucket{le="x} 1\n', "cannot be read"),
        ('t_bucket{le="1"} 1\n', "there is no histogram t"),
        ('t_bucket{le="0.1"} 1\nt_bucket{le="+Inf"} 1\n', "cannot tell whether 0.2 s is kept"),
        ("nothing\n", "there is no histogram t"),
    ],
)
def test_a_histogram_that_cannot_tell_the_sla_is_a_problem(body: str, problem: str) -> None:
    with served(lambda handler: say(handler, 200, body)) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02, least_bound_s=0.2)
        look = looks_until(sensor, lambda look: "not scraped" not in look.problem)
        sensor.close()
    assert problem in look.problem


def test_an_endpoint_that_is_not_there_is_a_problem() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/metrics"
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda look: "not scraped" not in look.problem)
        sensor.close()
    assert "refused" in look.problem


def test_what_a_series_holds_when_it_is_first_seen_is_the_past() -> None:
    scrapes: list[int] = []

    def metrics(handler: http.server.BaseHTTPRequestHandler) -> None:
        scrapes.append(1)
        names = ("a",) if len(scrapes) < 5 else ("a", "joined")
        rows = [(name, bound) for name in names for bound in ("0.5", "+Inf")]
        count = 10**9 + len(scrapes)
        say(handler, 200, "".join(f't_bucket{{n="{n}",le="{le}"}} {count}\n' for n, le in rows))

    with served(metrics) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda _: len(scrapes) > 20)
        sensor.close()
    assert 0 < look.latencies.total < 10**9


def test_lines_of_a_scrape_that_are_not_understood_are_counted() -> None:
    body = (
        't_bucket{le="1"} 1\nt_bucket{le="+Inf"} 1\nt_bucket{le="x} 1\nt_bucket{a="b",le="1"} 1\n'
    )
    with served(lambda handler: say(handler, 200, body)) as url:
        sensor = PrometheusSensor(url, "t", interval_s=60.0)
        look = sensor.look()
        while "not scraped" in look.problem:
            time.sleep(0.01)
            look = sensor.look()
        sensor.close()
    assert look.unread == 2
