"""Prefixes that Docker, Kubernetes and syslog add are removed; lines that they split are joined."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors.wrappers import entries, unwrapped

LINE = b'192.0.2.7 - - [x] "GET /a HTTP/1.1" 200 2 "-" "a: b" 0.024'


def docker(text: str, stream: str = "stdout") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": "2026-01-01T00:00:00Z"}).encode()


@pytest.mark.parametrize(
    "wrapped",
    [
        docker(LINE.decode() + "\n"),
        b"2026-01-01T00:00:00.123456789Z stdout F " + LINE,
        b"2026-01-01T00:00:00.0+02:00 stderr F " + LINE,
        b"<190>Jan 21 08:59:54 web nginx: " + LINE,
        b"<190>Jan  1 08:59:54 nginx: " + LINE,
        b"Jan 21 08:59:54 web.example.org nginx[77]: " + LINE,
        b"2026-01-21T08:59:54.123456+01:00 web nginx[77]: " + LINE,
        b"<165>1 2026-01-11T22:14:15.003Z web nginx 77 ID47 - " + LINE,
        b'<165>1 2026-01-11T22:14:15.003Z web nginx - - [a@1 b="c\\]d"][e@2] \xef\xbb\xbf' + LINE,
        b"web-1  | " + LINE,
        b"2026-01-21T08:59:54.123456789Z " + LINE,
        docker(LINE.decode() + "\n").replace(b'"time"', b'"kubernetes": {"pod": "x"}, "time"'),
    ],
)
def test_the_line_inside_is_found(wrapped: bytes) -> None:
    assert unwrapped(wrapped) == (LINE, True)
    assert entries([wrapped, wrapped], []) == [LINE, LINE]


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        b'{"log":"x","rt":1}',
        b'{"log":{"a":1},"stream":"stdout","time":"t"}',
        b'{"log":"x","stream":"video","time":"t"}',
        b'{"stream":"stdout","rt":0.1,"log":"x","time":"t"}',
        b"2026-01-01 10:00:00 UTC [77] a@b LOG:  duration: 31.000 ms  statement: select 1",
        b"2026-01-01 10:00:00.123 UTC [77] LOG:  duration: 31.000 ms  statement: select 1",
        b"2026-01-15T20:17:00+01:00 192.0.2.7 0.024",
        b"# Query_time: 0.1  Lock_time: 0.0",
        b'[2026-01-15T20:17:00.310Z] "POST /v1/a HTTP/2" 204 - 154 0 31',
    ],
)
def test_a_line_in_no_wrapper_stays_as_it_is(line: bytes) -> None:
    assert unwrapped(line) == (line, True)


def test_pieces_of_a_long_line_are_joined_over_looks() -> None:
    cri = b"2026-01-01T00:00:00.123456789Z stdout "
    rest: list[bytes] = []
    assert entries([cri + b"P one ", cri + b"P two "], rest) == []
    assert entries([cri + b"F three", cri + b"F next"], rest) == [b"one two three", b"next"]
    assert entries([docker("one "), docker("two\n")], rest) == [b"one two"]
    assert rest == []


def test_pieces_without_an_end_take_no_memory_without_end() -> None:
    rest: list[bytes] = []
    for _ in range(50):
        entries([b"2026-01-01T00:00:00.123456789Z stdout P x"] * 100, rest)
    assert len(rest) <= 1000


@given(st.lists(st.binary(max_size=80), max_size=5))
def test_no_bytes_make_it_fall_over(lines: list[bytes]) -> None:
    rest: list[bytes] = []
    for more in (
        b"",
        b"<1>1 ",
        b"2026-01-01T00:00:00.0Z stdout P ",
        b'{"log":"',
        b"Jan  1 00:00:00 ",
    ):
        entries([more + line for line in lines], rest)


def test_a_long_hostile_line_takes_no_long_time() -> None:
    for line in (b"[" * 200_000, b"<1>1 " + b"[a" * 100_000, b"Jan  1 00:00:00 " + b"a" * 200_000):
        unwrapped(line)
