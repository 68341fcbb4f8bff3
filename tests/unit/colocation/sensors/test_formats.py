"""Latencies from log lines: each format as its server writes it, and random bytes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aferir.colocation.sensors.formats import apache, expression, fields
from aferir.colocation.sensors.formats.nginx import COMBINED
from aferir.colocation.sensors.formats.presets import FORMATS, fitting, named
from aferir.colocation.sensors.formats.template import Template, as_declared, chosen
from aferir.colocation.sensors.formats.template import parser as by_template
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard, Kind
from aferir.errors import UsageError

slow_log = FORMATS["slowlog"].parse
nginx = FORMATS["nginx"].parse


def seconds(heard: Heard) -> float:
    assert heard.kind is Kind.ANSWER
    return heard.latency_s


ELASTICSEARCH_6 = (
    b"[2018-03-01T10:00:00,123][WARN ][index.search.slowlog.query] [node-1] [wiki][3] "
    b"took[%s], took_millis[4], types[], stats[], search_type[QUERY_THEN_FETCH], total_shards[5], "
    b'source[{"query":{"match":{"text":{"query":"took[9s]"}}}}],'
)
OPENSEARCH = (
    b"[2024-05-01T10:00:00,123][WARN ][i.s.s.query              ] [node] [wiki][0] took[78.4micros]"
    b", took_millis[0], total_hits[12 hits], stats[], search_type[QUERY_THEN_FETCH], "
    b"total_shards[1], source[{}], id[]"
)
ECS = (
    b'{"@timestamp":"2024-05-01T10:00:00.123Z","log.level":"WARN",'
    b'"elasticsearch.slowlog.took":"1.2ms","elasticsearch.slowlog.took_millis":"1",'
    b'"log.logger":"index.search.slowlog.query"}'
)
JSON_7 = (
    b'{"type":"index_search_slowlog","level":"WARN","component":"i.s.s.query","took":"2.5s",'
    b'"took_millis":"2500"}'
)


@pytest.mark.parametrize(
    ("took", "wanted"),
    [
        (b"843nanos", 843e-9),
        (b"78.4micros", 78.4e-6),
        (b"4.3ms", 4.3e-3),
        (b"12ms", 12e-3),
        (b"1.5s", 1.5),
        (b"2m", 120.0),
        (b"1.1h", 3960.0),
        (b"0d", 0.0),
    ],
)
def test_every_unit_of_a_slow_log_is_read(took: bytes, wanted: float) -> None:
    assert seconds(slow_log(ELASTICSEARCH_6 % took)) == pytest.approx(wanted)


def test_slow_logs_of_all_versions_are_read() -> None:
    assert seconds(slow_log(OPENSEARCH)) == pytest.approx(78.4e-6)
    assert seconds(slow_log(ECS)) == pytest.approx(1.2e-3)
    assert seconds(slow_log(JSON_7)) == pytest.approx(2.5)


def test_the_fetch_phase_is_not_counted_as_one_more_search() -> None:
    assert slow_log((ELASTICSEARCH_6 % b"4ms").replace(b"log.query", b"log.fetch")) is ASIDE
    assert slow_log(OPENSEARCH.replace(b"s.s.query", b"s.s.fetch")) is ASIDE
    assert slow_log(JSON_7.replace(b"s.s.query", b"s.s.fetch")) is ASIDE


ACCESS = (
    b"127.0.0.1 - - [01/May/2024:10:00:00 +0000] "
    b'"GET /a HTTP/1.1" 200 615 "-" "curl/7.88 (x; [y] 1.5)" %s'
)


def test_the_request_time_at_the_end_of_a_combined_log_is_read() -> None:
    assert seconds(nginx(ACCESS % b"0.123")) == pytest.approx(0.123)
    assert nginx(ACCESS % b"-") is ASIDE


def test_another_number_behind_the_agent_is_not_taken_for_the_time() -> None:
    for more in (b"512 0.024", b"2.41 0.024", b"0.024 0.020", b"0.024 [a-b-80]"):
        assert nginx(ACCESS % more) is UNREAD


def test_seconds_are_not_taken_for_microseconds_nor_the_other_way_round() -> None:
    assert nginx(ACCESS % b"31000") is UNREAD
    assert FORMATS["apache"].parse(ACCESS % b"0.031") is UNREAD
    assert fitting([ACCESS % b"31000"]) == "apache"
    assert fitting([ACCESS % b"0.031"]) == "nginx"


def test_no_text_of_a_user_is_taken_for_a_field() -> None:
    agent = rb"x\" 200 9 \"-\" \"-\" 9.0"
    line = b'192.0.2.1 - - [x] "GET /?took=9s HTTP/1.1" 200 5 "-" "' + agent + b'" 0.020'
    assert seconds(nginx(line)) == pytest.approx(0.020)
    said = b'{"user":"{\\"rt\\":9}","rt":0.5}'
    assert seconds(fields.parser("rt")(said)) == pytest.approx(0.5)
    ecs = ECS.replace(b'"elasticsearch.slowlog.took"', b'"source":"took[9s]","took_":"9s","took"')
    assert seconds(slow_log(ecs)) == pytest.approx(1.2e-3)
    query = b"2026-01-01 UTC [9] u@d LOG:  duration: 1.500 ms  statement: select 'duration: 9 ms'"
    assert seconds(FORMATS["postgresql"].parse(query)) == pytest.approx(1.5e-3)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (b"200", Kind.ANSWER),
        (b"404", Kind.ANSWER),
        (b"101", Kind.ASIDE),
        (b"408", Kind.ASIDE),
        (b"499", Kind.FAILED),
        (b"502", Kind.FAILED),
        (b"000", Kind.FAILED),
        (b"-", Kind.FAILED),
        (b"GET", Kind.UNREAD),
    ],
)
def test_lifetimes_and_failures_are_no_answers(status: bytes, kind: Kind) -> None:
    line = ACCESS.replace(b" 200 ", b" %s ") % (status, b"3600.1")
    assert nginx(line).kind is kind


def test_a_stream_of_events_is_no_answer() -> None:
    made = by_template(chosen('$status "$sent_http_content_type" $request_time'))
    assert made(b'200 "text/event-stream; charset=utf-8" 600.000') is ASIDE
    assert seconds(made(b'200 "text/html" 0.600')) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        (b"0.010", 0.010),
        (b"0.010, 0.020", 0.030),
        (b"0.010, 0.020 : 0.005", 0.035),
        (b"-", None),
        (b"-, 0.020", 0.020),
    ],
)
def test_upstream_times_of_all_servers_that_were_tried_are_added(
    times: bytes, wanted: float | None
) -> None:
    made = '$remote_addr $request_time $upstream_response_time "$request" ${status}'
    line = b'10.0.0.1 0.500 %s "GET / HTTP/1.1" 200' % times
    heard = by_template(Template(text=made, time="upstream_response_time"))(line)
    assert heard is ASIDE if wanted is None else seconds(heard) == pytest.approx(wanted)
    assert seconds(by_template(Template(text=made))(line)) == pytest.approx(0.5)


def test_lists_of_servers_that_were_tried_are_one_variable_each() -> None:
    made = by_template(chosen("$upstream_addr $upstream_status $request_time $status"))
    line = b"192.0.2.1:80, 192.0.2.2:80 : 192.0.2.3:80 502, 504 : 200 3.100 200"
    assert seconds(made(line)) == pytest.approx(3.1)


def test_a_format_is_taken_as_nginx_conf_has_it() -> None:
    declared = """log_format timed escape=json '$remote_addr "$request" '
                     '$status rt=$request_time';"""
    assert as_declared(declared) == '$remote_addr "$request" $status rt=$request_time'
    assert chosen("$status $upstream_response_time").time == "upstream_response_time"


@pytest.mark.parametrize(
    ("text", "why"),
    [("$remote_addr $status", "neither"), ("$status$request_time", "nothing is between")],
)
def test_a_format_that_cannot_be_read_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        by_template(chosen(text))


def test_a_format_without_the_time_is_refused() -> None:
    with pytest.raises(UsageError, match="upstream_response_time"):
        by_template(Template(text=COMBINED, time="upstream_response_time"))


INGRESS = (
    b'192.0.2.7 - - [21/Jan/2025:08:59:54 +0100] "POST /b HTTP/2.0" 200 77 "-" "x/1.0 (y)" 512 '
    b"0.031 [shop-web-80] [] 10.0.0.1:80, 10.0.0.2:80 0, 77 0.010, 0.020 502, 200 0a1b2c"
)
APACHE = b'::1 - bob [21/Jan/2025:08:59:54 +0100] "GET / HTTP/1.1" 200 7 "-" "a \\"b\\" 9" 31000'
HAPROXY = (
    b"192.0.2.7:3312 [06/Feb/2025:12:14:14.655] web~ shop/s1 1/0/2/26/31 200 2750 - - ---- "
    b'1/1/1/1/0 0/0 {a|b} {} "GET /index.html HTTP/1.1"'
)
ENVOY = (
    b'[2025-01-15T20:17:00.310Z] "POST /v1/a HTTP/2" 204 - 154 0 31 30 "10.0.35.28" "x y" '
    b'"cc21d9b0" "shop" "10.0.2.1:80"'
)
ISTIO = (
    b'[2025-01-15T20:17:00.310Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 31 3 '
    b'"-" "curl/7.73" "84961386" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 '
    b"10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._ default"
)
TRAEFIK = (
    b'192.0.2.7 - - [21/Jan/2025:08:59:54 +0000] "GET / HTTP/1.1" 200 11 "-" "-" 12 '
    b'"web@docker" "http://10.0.0.2:80" 31ms'
)
TRAEFIK_JSON = b'{"DownstreamStatus":200,"Duration":31000000,"OriginDuration":30000000}'
CADDY = (
    b'{"level":"info","logger":"http.log.access.log0","msg":"handled request","request":'
    b'{"method":"GET","uri":"/?duration=9"},"duration":0.031,"status":200}'
)
POSTGRESQL = b"2026-01-01 10:00:00 UTC [77] a@b LOG:  duration: 31.000 ms  execute s1: select 1"
MARIADB = b"# Query_time: 0.031000  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 9"
LINES = (
    ("nginx", ACCESS % b"0.031", 0.031),
    ("ingress-nginx", INGRESS, 0.031),
    ("apache", APACHE, 0.031),
    ("haproxy", HAPROXY, 0.031),
    ("envoy", ENVOY, 0.031),
    ("envoy", ISTIO, 0.031),
    ("traefik", TRAEFIK, 0.031),
    ("traefik", TRAEFIK_JSON, 0.031),
    ("caddy", CADDY, 0.031),
    ("postgresql", POSTGRESQL, 0.031),
    ("mariadb", MARIADB, 0.031),
    ("slowlog", OPENSEARCH, 78.4e-6),
)


@pytest.mark.parametrize(("name", "line", "wanted"), LINES)
def test_the_usual_line_of_every_format_is_read(name: str, line: bytes, wanted: float) -> None:
    assert seconds(FORMATS[name].parse(line)) == pytest.approx(wanted)


def test_lines_name_the_format_that_fits_them() -> None:
    for name, line, _ in LINES:
        assert name in fitting([line, line])
    assert fitting([INGRESS]) == "ingress-nginx"
    assert fitting([b"nonsense"]) == fitting([]) == ""
    assert named("mysql") is FORMATS["mariadb"]
    assert named("no such") is None


@pytest.mark.parametrize(
    ("name", "line", "heard"),
    [
        ("haproxy", HAPROXY.replace(b" 200 ", b" -1 ").replace(b"----", b"CR--"), FAILED),
        ("haproxy", HAPROXY.replace(b"----", b"SD--"), FAILED),
        ("haproxy", HAPROXY.replace(b"26/31", b"26/+31"), ASIDE),
        ("haproxy", HAPROXY.replace(b" 200 ", b" 101 "), ASIDE),
        ("haproxy", b"192.0.2.7:33 [x] db db/s1 1/0/5007 212 -- 0/0/0/0/3 0/0", ASIDE),
        ("envoy", ENVOY.replace(b" 204 - ", b" 0 DC "), FAILED),
        ("envoy", ENVOY.replace(b" 204 - ", b" 503 UF "), FAILED),
        ("caddy", CADDY.replace(b"http.log.access.log0", b"tls.cache"), ASIDE),
        ("caddy", CADDY.replace(b":200}", b":502}"), FAILED),
        ("traefik", TRAEFIK_JSON.replace(b":200,", b":499,"), FAILED),
        ("postgresql", POSTGRESQL.replace(b"execute", b"parse"), ASIDE),
        ("postgresql", POSTGRESQL.replace(b"execute", b"bind"), ASIDE),
        ("postgresql", POSTGRESQL.replace(b"execute s1:", b"plan:"), ASIDE),
        ("postgresql", b"\tfrom t -- LOG:  duration: 9.000 ms", ASIDE),
        ("postgresql", b"2026 [7] a@b ERROR:  no LOG:  duration: 9.000 ms", ASIDE),
        ("postgresql", b"[3-2] #011from t -- LOG:  duration: 9.000 ms", ASIDE),
        ("postgresql", b"[3-12] from t", ASIDE),
        ("postgresql", b"nonsense", UNREAD),
        ("mariadb", b"select '# Query_time: 9'", ASIDE),
        ("mariadb", b"# Query_time: soon", UNREAD),
        (
            "slowlog",
            ELASTICSEARCH_6.replace(b"search.slowlog.query", b"indexing.slowlog.index") % b"1s",
            ASIDE,
        ),
    ],
)
def test_what_is_no_answer_is_told_apart(name: str, line: bytes, heard: Heard) -> None:
    assert FORMATS[name].parse(line) is heard


def test_postgresql_is_read_as_csv_and_as_json() -> None:
    csv = b'2026-01-01 10:00:00.1 UTC,"a","b",77,,6,1,,LOG,00000,"duration: 31.0 ms  statement: x"'
    json = b'{"pid":7,"error_severity":"LOG","message":"duration: 31.0 ms  statement: x"}'
    syslog = b"[3-1] 2026-01-01 10:00:00 UTC [7] LOG:  duration: 31.000 ms  statement: x"
    for line in (csv, json, syslog):
        assert seconds(FORMATS["postgresql"].parse(line)) == pytest.approx(0.031)


def test_apaches_words_are_read_as_apache_writes_them() -> None:
    made = apache.by_log_format(r'LogFormat "%v %h %t \"%r\" %>s %{ms}T" timed')
    assert seconds(made(b'a.b 192.0.2.1 [x y] "GET / HTTP/1.1" 200 31')) == pytest.approx(0.031)
    assert made(b'a.b 192.0.2.1 [x y] "GET / HTTP/1.1" 503 0') is FAILED
    with pytest.raises(UsageError, match="whole seconds"):
        apache.by_log_format("%h %s %T")
    with pytest.raises(UsageError, match="no time"):
        apache.by_log_format("%h %s")


PARSERS = (
    *(one.parse for one in FORMATS.values()),
    by_template(Template(text="$a $upstream_response_time $b", time="upstream_response_time")),
    fields.parser("took"),
    expression.parser(r"took=(\S+)"),
    apache.by_log_format("%h %>s %D"),
)


@given(st.binary(max_size=300))
@example(b"took=\xff")
@example(b"took=1e999")
@example(b'{"took":1e999}')
def test_no_parser_falls_over_any_bytes(line: bytes) -> None:
    for parse in PARSERS:
        assert 0 <= parse(line).latency_s <= 1e7


@given(
    st.sampled_from([*(line for _, line, _ in LINES), ELASTICSEARCH_6 % b"4.3ms", JSON_7]),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=5),
)
def test_no_parser_falls_over_damaged_lines(line: bytes, damage: list[tuple[int, bytes]]) -> None:
    for place, what in damage:
        line = line[:place] + what + line[place + 1 :]
    for parse in PARSERS:
        assert 0 <= parse(line).latency_s <= 1e7


def test_a_long_hostile_line_takes_no_long_time() -> None:
    """An expression with quadratic time in the line's length would exceed pytest's time limit."""
    for line in (
        b"took[" * 50_000,
        b"0.1, " * 50_000,
        b'"took":"' + b"1" * 200_000,
        b" " * 200_000,
    ):
        for parse in PARSERS:
            parse(line)
