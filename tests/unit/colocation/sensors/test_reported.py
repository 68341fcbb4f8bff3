"""Log lines and pages from public bug reports: units, cut numbers, missing statuses, wrappers."""

from __future__ import annotations

import contextlib
import http.server
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aferir.colocation.sensors import durations, wrappers
from aferir.colocation.sensors.exposition import fell, whole
from aferir.colocation.sensors.formats import expression, fields
from aferir.colocation.sensors.formats.presets import FORMATS
from aferir.colocation.sensors.formats.template import chosen, parser
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard
from aferir.colocation.sensors.log import LogSensor
from aferir.colocation.sensors.prometheus import PrometheusSensor
from aferir.colocation.sensors.web import Address, redirected
from aferir.errors import UsageError
from tests.unit.colocation.sensors.serving import looks_until, say, served


def is_heard(found: Heard, wanted: Heard | float) -> bool:
    if isinstance(wanted, float):
        return found.latency_s == pytest.approx(wanted)
    return found is wanted


@pytest.mark.parametrize(
    ("search", "line", "wanted"),
    [
        # The unit is a word behind the number: uWSGI, Spring, Go, .NET.
        (r"in (\d+)", "generated 72 bytes in 31 msecs (HTTP/1.1 200)", 0.031),
        (r"took (\d+)", "took 31 milliseconds", 0.031),
        (r"took (\d+)", "took 31000 microseconds.", 0.031),
        (r"took ([\d.]+)", "took 31.5 Millis", 0.0315),
        (r"took (\d+)", "took 3 seconds", 3.0),
        (r"took (\d+)", "took 31ms", 0.031),
        (r"took (\d+)", "took 2min", 120.0),
        # Not a unit: the beginning of another word, or a word that is one only when attached.
        (r"took (\d+)", "took 3 msgs", 3.0),
        (r"took (\d+)", "took 3 min 7 max", 3.0),
        # A part of the number: what was found is 12, 7 or 1 of it.
        (r"took (\d+)", "took 12.7 ms", UNREAD),
        (r"took=(\d+)", "took=12.7", UNREAD),
        (r"took (\d)", "took 12 ms", UNREAD),
        (r"(\d) ms", "took 12 ms", UNREAD),
        (r"(\d+) ?ms", "took 12.7 ms", UNREAD),
        (r"(\d+) ?ms", "took 12,7 ms", UNREAD),
        (r"took (\d+)", "took 12,7 ms", UNREAD),
        (r"took (\d+)", "took 1,234 ms", UNREAD),
        (r"took (\d+)", "took 1,234.5 ms", UNREAD),
        (r"took (\d+)", "took 1'234 ms", UNREAD),
        (r"(\d+) ms", "took 1,234 ms", UNREAD),
        (r"took (\d+:\d+:\d+)", "took 00:00:01.5", UNREAD),
        (r"took (\d+)\.\d ms", "took 12.7 ms", 12.0),
        # The columns of a table are numbers of their own.
        (r"GET,(\d+)", "GET,31,200,x", 31.0),
        (r"GET,\d+,(\d+)", "GET,200,31", 31.0),
        (r"(\d+)$", "GET - 443 - 192.0.2.7 curl 200 0 0 31", 31.0),
    ],
)
def test_a_number_is_read_whole_and_with_its_unit(
    search: str, line: str, wanted: Heard | float
) -> None:
    assert is_heard(expression.parser(search)(line.encode()), wanted)


@given(st.integers(0, 10**6), st.sampled_from([".", ",", "'"]), st.integers(0, 999))
def test_a_part_of_a_number_before_a_unit_is_never_taken_for_it(
    whole: int, sign: str, part: int
) -> None:
    line = f"took {whole}{sign}{part:03} ms".encode()
    for search in (r"took (\d+)", r"(\d+) ms", r"(\d+) ?m"):
        assert expression.parser(search)(line) is UNREAD


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("latencies.request", "ms"),
        ("Elapsed", "ms"),
        ("responseLatency", "ms"),
        ("http_server_duration", "ms"),
        ("apiserver_request_latencies", "us"),
        ("time (ms)", "ms"),
        ("http_request_duration_ms_hist", "ms"),
        ("latency_ms_min", "ms"),
        ("took_milliseconds_total", "ms"),
        ("us_east_latency", None),
        ("latency_us_east", None),
        ("latency", None),
        ("", None),
    ],
)
def test_the_unit_is_that_of_the_name(name: str, unit: str | None) -> None:
    assert durations.unit_of(name) == unit


@pytest.mark.parametrize(
    ("field", "line", "wanted"),
    [
        # No response: Envoy, HTTP clients. A program's own code says nothing of the kind.
        ("duration_ms", '{"duration_ms":3,"response_code":0}', FAILED),
        ("duration_ms", '{"duration_ms":3,"http_status":0}', FAILED),
        ("duration_ms", '{"duration_ms":3,"code":0}', 0.003),
        ("duration_ms", '{"duration_ms":3,"status":1}', 0.003),
        ("duration_ms", '{"duration_ms":3,"status_code":0}', 0.003),
        ("latencies.request", '{"latencies":{"request":31},"response":{"status":200}}', 0.031),
        ("latencies.request", '{"latencies":{"request":31},"response":{"status":502}}', FAILED),
        ("attr.durationMillis", '{"msg":"Slow query","attr":{"durationMillis":31}}', 0.031),
        ("Elapsed", '{"Elapsed":31.25,"StatusCode":200}', 0.03125),
        ("rt", '{"rt":"0,031"}', UNREAD),
        ("rt", '{"rt":"1.234,5"}', UNREAD),
    ],
)
def test_fields_of_gateways_and_frameworks(field: str, line: str, wanted: Heard | float) -> None:
    assert is_heard(fields.parser(field)(line.encode()), wanted)


ISTIO = (
    '{"response_code":%s,"response_flags":"%s","duration":31,"upstream_service_time":"30",'
    '"method":"GET","path":"/?duration=9"}'
)
TRAEFIK = (
    '192.0.2.7 - - [21/Jan/2025:08:59:54 +0000] "GET / HTTP/1.1" %s "-" "-" 12 "w@docker" "-" 31ms'
)
HAPROXY_CLF = (
    '192.0.2.7 - - [13/Sep/2018:08:43:45 +0000] "GET /?\\"x HTTP/1.1" %s 93 "" "" 10976 %s '
    '"https" "web" "s1" %s 0 1 30 %s 1 1 0 0 0 0 0 "" "" "" ""'
)
INGRESS = (
    '192.0.2.7 - - [21/Jan/2025:08:59:54 +0100] "GET /b HTTP/2.0" 200 77 "-" "x" 512 0.031 '
    "[shop-web-80] [] %s 0a1b2c"
)


@pytest.mark.parametrize(
    ("name", "line", "wanted"),
    [
        ("envoy", ISTIO % (200, "-"), 0.031),
        ("envoy", ISTIO % (0, "DC"), FAILED),
        ("envoy", ISTIO % (101, "-"), ASIDE),
        ("envoy", '{"duration":31}', UNREAD),
        ("caddy", '{"logger":"http.log.access","status":0,"duration":9.5}', FAILED),
        # Without a status: WebSockets, streams and middleware, and requests without a route.
        ("traefik", TRAEFIK % "0 0", ASIDE),
        ("traefik", TRAEFIK % "- -", ASIDE),
        ("traefik", TRAEFIK % "502 11", FAILED),
        ("traefik", TRAEFIK % "200 0", 0.031),
        ("traefik", '{"DownstreamStatus":0,"OriginStatus":0,"Duration":60000000000}', ASIDE),
        ("traefik", '{"DownstreamStatus":502,"Duration":60000000000}', FAILED),
        # `option httplog clf`, of 1.5 and later.
        ("haproxy", HAPROXY_CLF % ("200", r"\828", r"\0", "31 ----"), 0.031),
        ("haproxy", HAPROXY_CLF % ("200", "828", "0", "31 ----"), 0.031),
        ("haproxy", HAPROXY_CLF % ("503", "828", "0", "31 SC--"), FAILED),
        ("haproxy", HAPROXY_CLF % ("200", "828", "0", "+31 ----"), ASIDE),
        # The lines of a statement begin with a blank where a service copied the log.
        ("postgresql", "          WHERE x IS NULL;", ASIDE),
        ("postgresql", "WHERE x IS NULL;", UNREAD),
        # The second server gave no answer; no server was asked.
        ("ingress-nginx", INGRESS % "192.0.2.1:80, 192.0.2.2:80 61, - 0.100, - 200, -", 0.031),
        ("ingress-nginx", INGRESS % "192.0.2.1:80, 192.0.2.2:80 -, 61 -, 0.100 -, 200", 0.031),
        ("ingress-nginx", INGRESS % "- - - -", 0.031),
    ],
)
def test_lines_of_proxies(name: str, line: str, wanted: Heard | float) -> None:
    assert is_heard(FORMATS[name].parse(line.encode()), wanted)


@pytest.mark.parametrize(
    ("times", "wanted"), [("0.031", 0.031), ("0.001, 0.030", 0.031), ("-", ASIDE), ("", ASIDE)]
)
def test_nginx_writes_no_time_as_nothing_in_json(times: str, wanted: Heard | float) -> None:
    parse = parser(chosen('{"status":"$status","urt":"$upstream_response_time"}'))
    assert is_heard(parse(f'{{"status":"200","urt":"{times}"}}'.encode()), wanted)


@pytest.mark.parametrize(
    "line",
    [
        b"May 01 10:00:00.123456 host nginx[7]: it",
        b"May  1 10:00:00 host nginx: it",
        b"web.1.x7k2@node-3    | it",
        b'{"__CURSOR":"s=1","_COMM":"nginx","MESSAGE":"it"}',
        b'{"__CURSOR":"s=1","MESSAGE":[105,116]}',
    ],
)
def test_what_journalctl_and_a_swarm_add_is_taken_off(line: bytes) -> None:
    assert wrappers.entries([line], []) == [b"it"]


@pytest.mark.parametrize("message", ["null", "[300]", "7", '{"a":1}'])
def test_an_entry_of_the_journal_without_text_stays_as_it_is(message: str) -> None:
    line = f'{{"__CURSOR":"s=1","MESSAGE":{message}}}'.encode()
    assert wrappers.entries([line], []) == [line]


def test_the_past_of_a_log_with_carriage_returns_is_read_as_its_new_lines_are(
    tmp_path: Path,
) -> None:
    path = tmp_path / "iis.log"
    path.write_bytes(b"a 200 0 0 31\r\n" * 3)
    sensor = LogSensor(path, expression.parser(r"(\d+)$", "ms"))
    assert (sensor.past().latencies.total, sensor.past().unread) == (3, 0)
    with path.open("ab") as file:
        file.write(b"a 200 0 0 31\r\n")
    assert sensor.look().latencies.total == 1
    sensor.close()


def test_counts_of_several_processes_that_answer_in_turn_are_not_added() -> None:
    asked: list[int] = []

    def metrics(handler: http.server.BaseHTTPRequestHandler) -> None:
        asked.append(1)
        count = (1000, 10)[len(asked) % 2] + len(asked)
        say(handler, 200, f't_bucket{{le="1"}} {count}\nt_bucket{{le="+Inf"}} {count}\n')

    with served(metrics) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda look: "answer in turn" in look.problem)
        sensor.look()
        after = looks_until(sensor, lambda _: len(asked) > 100)
        sensor.close()
    assert "several processes" in look.problem
    assert after.latencies.total == 0


@pytest.mark.parametrize(
    ("counts", "is_whole"),
    [((1, 3, 4), True), ((4, 4, 4), True), ((0, 0, 0), True), ((900, 60, 7), False)],
)
def test_buckets_that_are_not_cumulative_are_not_read(
    counts: tuple[float, ...], is_whole: bool
) -> None:
    series = dict(zip((0.1, 1.0, float("inf")), counts, strict=True))
    assert whole({(): series}, {}) == ({()} if is_whole else set())


def test_a_series_that_is_new_or_went_on_has_not_fallen() -> None:
    counts = {1.0: 3.0, float("inf"): 7.0}
    assert not fell({}, {(): counts})
    assert not fell({(): counts}, {(): counts})
    assert not fell({(): counts}, {})
    assert fell({(): counts}, {(): {1.0: 3.0, float("inf"): 6.0}})


@given(st.text(max_size=60) | st.text("[]:/.%@?#ab", max_size=20).map("http://{}".format))
@example("http://[bad")
@example("//[::1")
def test_any_redirect_is_an_address_or_an_error_of_ours(onward: str) -> None:
    with contextlib.suppress(UsageError):
        redirected(Address("192.0.2.1", 80, "/x"), onward)


@pytest.mark.parametrize("onward", ["http://[bad", "http://a..b/"])
def test_a_redirect_to_nowhere_is_a_problem_and_ends_no_scraping(onward: str) -> None:
    asked: list[int] = []

    def moved(handler: http.server.BaseHTTPRequestHandler) -> None:
        asked.append(1)
        if len(asked) < 3:
            handler.send_response(307)
            handler.send_header("Location", onward)
            handler.end_headers()
        else:
            say(handler, 200, 't_bucket{le="1"} 1\nt_bucket{le="+Inf"} 1\n')

    with served(moved) as url:
        sensor = PrometheusSensor(url, "t", interval_s=0.02)
        look = looks_until(sensor, lambda look: not look.problem)
        sensor.close()
    assert look.problem == ""
