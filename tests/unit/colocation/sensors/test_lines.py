"""Latencies in the lines of logs: the formats as they are, and any bytes at all."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aferir.colocation.sensors.lines import (
    COMBINED,
    json_lines,
    nginx,
    pattern,
    slow_log,
)
from aferir.errors import UsageError

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
    ("took", "seconds"),
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
def test_every_unit_of_a_slow_log_is_read(took: bytes, seconds: float) -> None:
    assert slow_log(ELASTICSEARCH_6 % took) == pytest.approx(seconds)


def test_slow_logs_of_all_versions_are_read() -> None:
    assert slow_log(OPENSEARCH) == pytest.approx(78.4e-6)
    assert slow_log(ECS) == pytest.approx(1.2e-3)
    assert slow_log(JSON_7) == pytest.approx(2.5)


def test_the_fetch_phase_is_not_counted_as_one_more_search() -> None:
    assert slow_log((ELASTICSEARCH_6 % b"4ms").replace(b"log.query", b"log.fetch")) is None
    assert slow_log(OPENSEARCH.replace(b"s.s.query", b"s.s.fetch")) is None
    assert slow_log(JSON_7.replace(b"s.s.query", b"s.s.fetch")) is None


ACCESS = (
    b"127.0.0.1 - - [01/May/2024:10:00:00 +0000] "
    b'"GET /a HTTP/1.1" 200 615 "-" "curl/7.88 (x; [y] 1.5)" %s'
)


def test_the_request_time_at_the_end_of_a_combined_log_is_read() -> None:
    assert nginx()(ACCESS % b"0.123") == pytest.approx(0.123)
    assert nginx()(ACCESS % b"-") is None


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (b"0.010", 0.010),
        (b"0.010, 0.020", 0.030),
        (b"0.010, 0.020 : 0.005", 0.035),
        (b"-", None),
        (b"-, 0.020", 0.020),
    ],
)
def test_upstream_times_of_all_servers_that_were_tried_are_added(
    times: bytes, seconds: float | None
) -> None:
    made = '$remote_addr $request_time $upstream_response_time "$request" ${status}'
    line = b'10.0.0.1 0.500 %s "GET / HTTP/1.1" 200' % times
    assert nginx(made, "upstream_response_time")(line) == (
        None if seconds is None else pytest.approx(seconds)
    )
    assert nginx(made)(line) == pytest.approx(0.5)


def test_a_format_without_the_time_is_refused() -> None:
    with pytest.raises(UsageError, match="upstream_response_time"):
        nginx(COMBINED, "upstream_response_time")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b'{"response":{"took":12.5}}', 0.0125),
        (b'{"response":{"took":"12.5"}}', 0.0125),
        (b'{"response.took":7}', 0.007),
        (b'{"response":{"took":true}}', None),
        (b'{"response":{"took":-1}}', None),
        (b'{"response":{"took":"NaN"}}', None),
        (b'{"response":{"took":1e400}}', None),
        (b'{"response":[1]}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_a_field_of_a_json_line_is_read_by_its_path(line: bytes, seconds: float | None) -> None:
    found = json_lines("response.took", "ms")(line)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_regular_expression_gives_its_group() -> None:
    assert pattern(r"in (\d+)us")(b"done in 250us") == 250.0
    assert pattern(r"in (?P<x>\d+) of (?P<latency>\d+)us", "us")(b"in 1 of 250us") == (
        pytest.approx(250e-6)
    )
    assert pattern(r"in (\w+)|out")(b"out") is None


@pytest.mark.parametrize("wrong", ["(", "no group", "(?P<1>x)", "(a){99999999999}"])
def test_a_wrong_expression_is_told_at_once(wrong: str) -> None:
    with pytest.raises(UsageError):
        pattern(wrong)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(UsageError, match="unit"):
        json_lines("took", "fortnights")


PARSERS = (
    slow_log,
    nginx(),
    nginx("$a $upstream_response_time $b", "upstream_response_time"),
    json_lines("took"),
    pattern(r"took=(\S+)"),
)


@given(st.binary(max_size=300))
@example(b"took=\xff")
@example(b"took=1e999")
@example(b'{"took":1e999}')
def test_no_parser_falls_over_any_bytes(line: bytes) -> None:
    for parse in PARSERS:
        found = parse(line)
        assert found is None or 0 <= found <= 1e7


@given(
    st.sampled_from([ELASTICSEARCH_6 % b"4.3ms", OPENSEARCH, ECS, JSON_7, ACCESS % b"0.123"]),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=5),
)
def test_no_parser_falls_over_damaged_lines(line: bytes, damage: list[tuple[int, bytes]]) -> None:
    for place, what in damage:
        line = line[:place] + what + line[place + 1 :]
    for parse in PARSERS:
        found = parse(line)
        assert found is None or 0 <= found <= 1e7


def test_a_long_hostile_line_takes_no_long_time() -> None:
    """One that takes the square of its length would not be done before pytest ends it."""
    for line in (
        b"took[" * 50_000,
        b"0.1, " * 50_000,
        b'"took":"' + b"1" * 200_000,
        b" " * 200_000,
    ):
        for parse in PARSERS:
            parse(line)
