"""Log lines and pages as found in practice: gRPC codes, clouds, prefixes, encodings."""

from __future__ import annotations

import gzip
import http.client
import http.server
from pathlib import Path

import pytest

from aferir.colocation.sensors import grpc, wrappers
from aferir.colocation.sensors.exposition import read_buckets
from aferir.colocation.sensors.formats import apache, expression, fields
from aferir.colocation.sensors.formats.presets import FORMATS
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard
from aferir.colocation.sensors.log import LogSensor
from aferir.colocation.sensors.selector import Selector
from aferir.colocation.sensors.web import Address, fetch, parse_url, question
from aferir.colocation.settings import Sla
from aferir.config import latency
from aferir.errors import UsageError
from tests.unit.colocation.sensors.serving import served


@pytest.mark.parametrize(
    ("field", "line", "heard"),
    [
        ("Elapsed", b'{"Elapsed":"00:00:00.02","StatusCode":503}', FAILED),
        ("took", b'{"took":0.2,"http_code":"502"}', FAILED),
        (
            "target_processing_time",
            b'{"target_processing_time":-1,"elb_status_code":"504"}',
            FAILED,
        ),
        ("httpRequest.latency", b'{"httpRequest":{"latency":"0.1s","status":500}}', FAILED),
        ("httpRequest.latency", b'{"httpRequest":{"latency":"0.1s","status":7}}', 0.1),
        ("httpRequest.latency", b'{"httpRequest":{"latency":"0.1s"},"status":500}', FAILED),
        ("grpc.time_ms", b'{"grpc.code":"Unavailable","grpc.time_ms":3}', FAILED),
        ("grpc.time_ms", b'{"grpc.code":"NotFound","grpc.time_ms":3}', 0.003),
        ("duration_ms", b'{"duration_ms":3,"response_code":200,"grpc_status":"14"}', FAILED),
        ("duration_ms", b'{"duration_ms":3,"response_code":200,"grpc_status":null}', 0.003),
        ("grpc.time_ms", b'{"grpc.method_type":"bidi_stream","grpc.time_ms":60000}', ASIDE),
        ("grpc.time_ms", b'{"grpc.method_type":"unary","grpc.time_ms":60000}', 60.0),
    ],
)
def test_the_outcome_of_a_call_is_recognised_by_each_of_its_names(
    field: str, line: bytes, heard: Heard | float
) -> None:
    found = fields.parser(field)(line)
    if isinstance(heard, float):
        assert found.latency_s == pytest.approx(heard)
    else:
        assert found is heard


def test_codes_of_grpc_are_read_as_numbers_and_words() -> None:
    code: object
    for code in (14, "14", "UNAVAILABLE", "Unavailable", "DEADLINE_EXCEEDED", "DeadlineExceeded"):
        assert grpc.by_code(code) is FAILED
    for code in (0, "0", "OK", 5, "NOT_FOUND", "", "-", None, 3.5, "²", "9" * 5000, [14]):
        assert grpc.by_code(code) is None


def test_nginx_tells_the_code_of_a_call_in_a_header_or_a_trailer() -> None:
    text = "$status $request_time $sent_http_grpc_status $sent_trailer_grpc_status"
    parse = parser(Template(text=text))
    assert parse(b"200 0.012 - 0").latency_s == pytest.approx(0.012)
    assert parse(b"200 0.012 14 -") is FAILED
    assert parse(b"200 0.012 - 13") is FAILED


def test_letters_after_a_directive_of_apache_are_text() -> None:
    parse = apache.by_log_format("%{%FT%T}t %>s took %Dus")
    assert parse(b"2026-01-01T10:00:00 200 took 31000us").latency_s == pytest.approx(0.031)


def test_tomcats_unit_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    for text, line in (("%s %D@ms", b"200 31\n"), ("%s %T@s", b"200 0.031\n")):
        sensor = latency.sensor(f"apache:{path}#{text}", Sla(0.95, 0.2))
        with path.open("ab") as file:
            file.write(line)
        assert sensor.look().latencies.value(1.0) == pytest.approx(0.031, rel=1e-3)
        sensor.close()


def test_the_zone_of_an_address_is_read_and_not_lost_on_the_way() -> None:
    url = "http://[fe80::1%25eth0]:9090/metrics"
    assert parse_url(url) == Address("fe80::1%eth0", 9090, "/metrics")
    with pytest.raises(UsageError, match="has a zone"):
        question(url)


def test_lines_that_the_user_names_are_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    sla = Sla(0.95, 0.2)
    sensor = latency.sensor(f"regex:{path}#took=(.+)", sla, ["/poll", "^Watch"])
    path.write_bytes(b"/poll took=60\n/a took=0.1\nWatch took=900\n")
    look = sensor.look()
    sensor.close()
    assert (look.latencies.total, look.aside, look.unread) == (1, 2, 0)
    with pytest.raises(UsageError, match="no regular expression"):
        latency.sensor(f"regex:{path}#took=(.+)", sla, ["("])
    with pytest.raises(UsageError, match="lines of a log"):
        latency.sensor("prometheus:http://127.0.0.1:1/x#m", sla, ["a"])


@pytest.mark.parametrize(
    ("name", "line", "heard"),
    [
        ("haproxy", b"192.0.2.7:33 [x] web/1: SSL handshake failure", ASIDE),
        ("haproxy", b"Connect from 192.0.2.7:33 to 192.0.2.8:80 (web/HTTP)", ASIDE),
        ("haproxy", b"Server app/two is DOWN, reason: Layer4 timeout, check duration: 2ms.", ASIDE),
        ("postgresql", b"2026 [7] LOG:  00000: duration: 31.000 ms  statement: x", 0.031),
        ("postgresql", b"app=x,txid=0LOG:  duration: 31.000 ms", 0.031),
        ("postgresql", b"2026 [7] LOG:  Dauer: 31,000 ms  Anweisung: x", UNREAD),
        ("postgresql", "2026 [7] LOG:  durée : 31.000 ms".encode(), UNREAD),
        ("mariadb", b"# Query_time: 0.031  Lock_time: 0.0 Rows_sent: 1 Errno: 0 Killed: 0", 0.031),
        (
            "mariadb",
            b"# Query_time: 0.031  Lock_time: 0.0 Rows_sent: 0 Errno: 1205 Killed: 0",
            FAILED,
        ),
    ],
)
def test_other_lines_of_databases_and_proxies(name: str, line: bytes, heard: Heard | float) -> None:
    found = FORMATS[name].parse(line)
    if isinstance(heard, float):
        assert found.latency_s == pytest.approx(heard)
    else:
        assert found is heard


def test_the_name_of_a_field_in_the_text_says_its_unit() -> None:
    assert expression.parser(r"_usec=(\d+)")(b"took_usec=31000").latency_s == pytest.approx(0.031)
    assert expression.parser(r"(\d+)")(b'"took_ms": 31').latency_s == pytest.approx(0.031)
    assert expression.parser(r"(\d+)", "s")(b"took_ms=31").latency_s == pytest.approx(31)
    assert expression.parser(r"=([\d.]+)")(b"took=0.031").latency_s == pytest.approx(0.031)


def test_the_prefix_of_kubectl_is_taken_off() -> None:
    assert wrappers.entries([b"[pod/web-7f-x/nginx] it"], []) == [b"it"]
    assert wrappers.entries([b"[pod/] it"], []) == [b"[pod/] it"]


def test_a_log_that_never_told_a_latency_stays_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    sensor = LogSensor(path, FORMATS["mariadb"].parse)
    for _ in range(3):
        with path.open("ab") as file:
            file.write(b"select 1;\n")
        assert "none of its new lines" in sensor.look().problem
    sensor.close()


@pytest.mark.parametrize("more", ["", " 17.5", " st@1700000000.0", ' 17.5 ct@3 # {a="b"} 1'])
def test_a_bucket_may_tell_when_its_series_began(more: str) -> None:
    found = read_buckets(f'm_bucket{{le="+Inf"}} 7{more}', Selector.parse("m"))
    assert [*found.series.values()] == [{float("inf"): 7.0}]


def test_a_quoted_metric_is_selected_as_prometheus_3_writes_it() -> None:
    text = '{"http.took_bucket",verb="GET",le="+Inf"} 7\n{"http.took_bucket",le="+Inf"} 1\n'
    assert len(read_buckets(text, Selector.parse('{"http.took"}')).series) == 2
    assert len(read_buckets(text, Selector.parse('{"http.took", verb="GET"}')).series) == 1


@pytest.mark.parametrize(
    ("encoding", "body", "reason"),
    [
        ("gzip", gzip.compress(b"fine\n"), ""),
        ("gzip", b"torn", "gzip is broken"),
        ("br", b"x", "encoded as br"),
    ],
    ids=["whole gzip", "torn gzip", "brotli"],
)
def test_a_page_that_was_compressed_unasked_is_read_or_refused_as_that(
    encoding: str, body: bytes, reason: str
) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", encoding)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with served(answer) as url:
        if reason:
            with pytest.raises(http.client.HTTPException, match=reason):
                fetch(parse_url(url), 60.0)
        else:
            assert fetch(parse_url(url), 60.0) == ("fine\n", "")
