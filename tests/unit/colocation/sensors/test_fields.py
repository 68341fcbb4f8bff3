"""Latencies by the name of a field, or by a regular expression."""

from __future__ import annotations

import pytest

from aferir.colocation.sensors.formats import expression, fields
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard
from aferir.errors import UsageError
from tests.unit.colocation.sensors.test_formats import seconds


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b'{"response":{"took":12.5}}', 0.0125),
        (b'{"response":{"took":"12.5"}}', 0.0125),
        (b'{"response":{"took":"1.5s"}}', 1.5),
        (b'{"response":{"took":"10, 2.5"}}', 0.0125),
        (b'{"response":{"took":[10, "2.5"]}}', 0.0125),
        (b'{"response.took":7}', 0.007),
        (b'{"response":{"took":true}}', None),
        (b'{"response":{"took":-1}}', None),
        (b'{"response":{"took":"NaN"}}', None),
        (b'{"response":{"took":1e400}}', None),
        (b'{"response":{"took":["x"]}}', None),
        (b'{"response":{"took":[]}}', None),
        (b'{"response":[1]}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_a_field_of_a_json_line_is_read_by_its_path(line: bytes, wanted: float | None) -> None:
    heard = fields.parser("response.took", "ms")(line)
    assert heard is UNREAD if wanted is None else seconds(heard) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("line", "heard"),
    [
        (b'{"rt":"-"}', ASIDE),
        (b'{"rt":"9","status":101}', ASIDE),
        (b'{"rt":"9","resp_headers":{"Content-Type":["text/event-stream"]}}', ASIDE),
        (b'{"rt":"0.001","status":"502"}', FAILED),
        (b'{"rt":null,"status":504}', FAILED),
        (b'{"rt":0.1,"http":{"response":{"status_code":500}}}', FAILED),
    ],
)
def test_the_status_beside_a_field_says_what_it_is(line: bytes, heard: Heard) -> None:
    assert fields.parser("rt")(line) is heard


def test_a_status_that_is_none_of_http_says_nothing() -> None:
    for status in (b"0", b"1", b'"ok"', b"true", b"null"):
        line = b'{"rt":0.5,"status":%s}' % status
        assert seconds(fields.parser("rt")(line)) == pytest.approx(0.5)


def test_a_field_whose_name_says_its_unit_is_in_it() -> None:
    assert seconds(fields.parser("took_ms")(b'{"took_ms":7}')) == pytest.approx(0.007)
    assert seconds(fields.parser("took_ms", "s")(b'{"took_ms":7}')) == pytest.approx(7)


def test_a_regular_expression_gives_its_group() -> None:
    assert seconds(
        expression.parser(r"in (?P<x>\d+) of (?P<latency>\d+)us", "us")(b"in 1 of 250us")
    ) == (pytest.approx(250e-6))
    assert expression.parser(r"in (\w+)|out")(b"out") is UNREAD
    assert expression.parser(r"(?P<status>\d{3}) (?P<latency>\S+)")(b"503 0.001") is FAILED


def test_a_unit_behind_the_number_is_obeyed_where_none_is_said() -> None:
    assert seconds(expression.parser(r"in (\d+)")(b"done in 250us")) == pytest.approx(250e-6)
    assert seconds(expression.parser(r"in (\d+)")(b"done in 250 ms, ok")) == pytest.approx(0.25)
    assert seconds(expression.parser(r"in (\S+)")(b"done in 1.8ms")) == pytest.approx(1.8e-3)
    assert seconds(expression.parser(r"in (\d+)")(b"done in 2 steps")) == pytest.approx(2)
    assert seconds(expression.parser(r"in (\d+)", "ms")(b"in 250s")) == pytest.approx(0.25)


def test_the_first_of_a_list_of_times_is_not_taken_for_all_of_it() -> None:
    retried = b"rt=0.001, 2.900 ok"
    assert expression.parser(r"rt=([\d.]+)")(retried) is UNREAD
    assert expression.parser(r"rt=([\d.]+)")(b"rt=-, 2.900") is UNREAD
    assert seconds(expression.parser(r"rt=([\d., ]+)")(retried)) == pytest.approx(2.901)
    assert seconds(expression.parser(r"rt=([\d.]+),")(retried)) == pytest.approx(0.001)
    assert seconds(expression.parser(r"rt=([\d.]+)")(b"rt=0.001, 200")) == pytest.approx(0.001)


def test_an_object_behind_other_text_is_read() -> None:
    assert seconds(fields.parser("rt")(b'INFO [main] {"rt":0.3}')) == pytest.approx(0.3)
    assert fields.parser("rt")(b'INFO {"rt":0.3} and more') is UNREAD


@pytest.mark.parametrize("wrong", ["(", "no group", "(?P<1>x)", "(a){99999999999}"])
def test_a_wrong_expression_is_told_at_once(wrong: str) -> None:
    with pytest.raises(UsageError):
        expression.parser(wrong)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(UsageError, match="unit"):
        fields.parser("took", "fortnights")
    with pytest.raises(UsageError, match="unit"):
        expression.parser("(x)", "fortnights")
