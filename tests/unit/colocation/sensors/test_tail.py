"""Following a log that grows, rotates, is truncated, replaced or missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation.sensors.formats.fields import parser as json_lines
from aferir.colocation.sensors.formats.presets import FORMATS
from aferir.colocation.sensors.log import MOST_LINES, LogSensor
from aferir.colocation.sensors.tail import Tail


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def test_only_what_comes_after_the_start_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"past\n")
    tail = Tail(path)
    assert tail.lines() == []
    append(path, b"one\ntwo\n")
    assert tail.lines() == [b"one", b"two"]
    assert tail.lines() == []
    tail.close()


def test_a_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = Tail(path)
    append(path, b"on")
    assert tail.lines() == []
    append(path, b"e\r\ntw")
    assert tail.lines() == [b"one"]
    append(path, b"o\n")
    assert tail.lines() == [b"two"]
    tail.close()


def test_a_rotation_loses_no_line_of_either_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = Tail(path)
    append(path, b"one\n")
    assert tail.lines() == [b"one"]
    append(path, b"two\n")
    path.rename(tmp_path / "log.1")
    append(path, b"four\n")
    append(tmp_path / "log.1", b"three\n")
    assert tail.lines() == [b"two", b"three", b"four"]
    append(path, b"five\n")
    assert tail.lines() == [b"five"]
    tail.close()


def test_between_the_steps_of_a_rotation_the_old_file_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = Tail(path)
    path.rename(tmp_path / "log.1")
    append(tmp_path / "log.1", b"one\n")
    assert tail.lines() == [b"one"]
    append(path, b"two\n")
    assert tail.lines() == [b"two"]
    tail.close()


def test_a_truncated_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a long line of the past\n")
    tail = Tail(path)
    path.write_bytes(b"one\n")
    assert tail.lines() == [b"one"]
    tail.close()


def test_a_log_that_grew_past_our_place_after_a_truncation_is_known_by_its_bytes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"past\n")
    tail = Tail(path)
    path.write_bytes(b"one is longer than what was there\n")
    assert tail.lines() == [b"one is longer than what was there"]
    tail.close()


def test_a_hole_that_a_writer_leaves_after_a_truncation_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as stream:  # without O_APPEND: goes on at its old place
        stream.write(b"past\n" * 10_000)
        stream.flush()
        tail = Tail(path)
        os.truncate(path, 0)
        stream.write(b"one\n")
        stream.flush()
        assert tail.lines() == [b"one"]
    tail.close()


def test_a_log_that_is_not_there_yet_is_read_as_a_whole_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = Tail(path)
    assert tail.lines() == []
    assert "No such file" in tail.problem
    append(path, b"one\n")
    assert tail.lines() == [b"one"]
    assert tail.problem == ""
    tail.close()


def test_what_is_no_file_is_a_problem_and_holds_nobody_up(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path):
        tail = Tail(path)
        assert tail.lines() == []
        assert "not a regular file" in tail.problem


def test_an_endless_line_takes_no_endless_memory_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    tail = Tail(path)
    found = []
    for _ in range(12):
        append(path, b"x" * (1 << 18))
        found += tail.lines()
    append(path, b"\none\n")
    assert [*found, *tail.lines()] == [b"one"]
    tail.close()


@given(st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\0", b"")), max_size=12))
def test_however_a_log_is_cut_into_pieces_the_same_lines_come_out(pieces: list[bytes]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.touch()
        tail = Tail(path)
        found = []
        for piece in pieces:
            append(path, piece)
            found += tail.lines()
        tail.close()
    whole = b"".join(pieces).split(b"\n")[:-1]
    assert found == [line.rstrip(b"\r") for line in whole]


def test_the_share_of_lines_that_are_not_understood_is_a_problem_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    sensor = LogSensor(path, FORMATS["slowlog"].parse)
    good = b"[2001-01-01T00:00:00,000][WARN ][i.s.s.query] [n] [i][0] took[7ms], t\n"
    assert sensor.look().problem == ""
    append(path, b"nonsense\n")
    assert "none of its new lines" in sensor.look().problem
    append(path, good)
    look = sensor.look()
    assert (look.latencies.total, look.unread) == (1, 0)
    assert "more than a tenth" in look.problem
    for _ in range(3):
        append(path, 100 * good)
        look = sensor.look()
    assert look.problem == ""
    append(path, b"another format\n")
    look = sensor.look()
    assert "none of its new lines" in look.problem
    assert look.unread == 1
    sensor.close()


def test_lines_of_another_format_are_told_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    sensor = LogSensor(path, FORMATS["nginx"].parse)
    append(path, b"# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n")
    assert sensor.look().problem.endswith("they look like those of mariadb")
    sensor.close()


def test_failures_and_what_is_no_answer_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"t":5}\n')
    sensor = LogSensor(path, json_lines("t"))
    append(path, b'{"t":1,"status":502}\n{"t":9,"status":101}\n{"t":2}\n{"t":"x"}\n')
    look = sensor.look()
    assert (look.latencies.total, look.failed, look.aside, look.unread) == (1, 1, 1, 1)
    assert look.lines == 4
    assert sensor.past().lines == 5
    sensor.close()


def test_of_very_many_lines_some_are_read_and_stand_for_all(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    sensor = LogSensor(log, json_lines("t"))
    log.write_text('{"t": 1}\n' * 10 * MOST_LINES)
    look = sensor.look()
    assert look.latencies.total <= MOST_LINES
    assert look.latencies.total * look.each == pytest.approx(10 * MOST_LINES, rel=0.1)


@pytest.mark.parametrize("lines", [2, 3, 5, 6])
def test_of_very_many_entries_of_several_lines_those_with_the_time_are_met(
    tmp_path: Path, lines: int
) -> None:
    """Every so many-th line would always be the same one of an entry, and seldom that with it."""
    log = tmp_path / "log"
    log.touch()
    sensor = LogSensor(log, json_lines("query"))
    entries = 3 * MOST_LINES
    met = 0
    for _ in range(20):
        append(log, (b'{"query": 1}\n' + b'{"query": "-"}\n' * (lines - 1)) * entries)
        look = sensor.look()
        met += look.latencies.total * look.each
    assert met == pytest.approx(20 * entries, rel=0.25)
    sensor.close()


def test_a_log_of_many_buffers_is_read_in_one_look(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    tail = Tail(log)
    wanted = [b"%d" % number for number in range(40_000)]
    log.write_bytes(b"\n".join(wanted) + b"\n")
    assert tail.lines() == wanted
    assert tail.lines() == []
