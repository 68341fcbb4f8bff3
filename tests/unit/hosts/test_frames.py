"""Messages and lines of text over a pipe."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from aferir.errors import ProgramError
from aferir.hosts import frames


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    source, sink = os.pipe()
    yield source, sink
    os.close(source)


def test_text_comes_first_and_messages_then(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    os.write(sink, b"Welcome to node1\nready\n")
    frames.write(sink, b"one")
    frames.write(sink, b"")
    os.close(sink)
    reader = frames.Reader(source)
    assert [reader.line(1.0), reader.line(1.0)] == [b"Welcome to node1", b"ready"]
    assert [reader.message(1.0), reader.message(1.0), reader.message(1.0)] == [b"one", b"", None]


def test_a_message_that_breaks_off_is_the_end(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    os.write(sink, (100).to_bytes(4, "big") + b"half")
    os.close(sink)
    assert frames.Reader(source).message(1.0) is None


def test_silence_is_not_the_end(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    with pytest.raises(frames.Silence):
        frames.Reader(source).message(0.0)
    os.close(sink)


def test_a_message_of_which_a_part_has_come_is_read_once_the_rest_has(
    pipe: tuple[int, int],
) -> None:
    """Who is interrupted while it comes may read on: its head was lost."""
    source, sink = pipe
    reader, message = frames.Reader(source), (4).to_bytes(4, "big") + b"half"
    os.write(sink, message[:6])
    with pytest.raises(frames.Silence):
        reader.message(0.0)
    os.write(sink, message[6:])
    assert reader.message(1.0) == b"half"
    os.close(sink)


def test_what_nobody_reads_is_not_sent_for_ever(pipe: tuple[int, int]) -> None:
    _, sink = pipe
    with pytest.raises(frames.Silence, match="read"):
        frames.write(sink, bytes(2**20), silence_s=0.0)
    os.close(sink)


class Stalls:
    """A poll object of a machine that stands still for an hour at each wait."""

    def __init__(self, waits: int) -> None:
        self.left, self.waited_ms = waits, 0.0

    def poll(self, timeout_ms: float) -> list[int]:
        self.left -= 1
        self.waited_ms += timeout_ms
        return [] if self.left >= 0 else [1]


@pytest.mark.parametrize(("waits", "heard"), [(7, True), (8, False)])
def test_time_in_which_nobody_could_be_heard_is_no_silence(
    pipe: tuple[int, int], waits: int, heard: bool
) -> None:
    source, sink = pipe
    frames.write(sink, b"alive")
    reader = frames.Reader(source)
    stalls = Stalls(waits)
    reader._coming = stalls  # type: ignore[assignment]
    if heard:
        assert reader.message(8.0) == b"alive"
    else:
        with pytest.raises(frames.Silence, match="8 s"):
            reader.message(8.0)
    assert stalls.waited_ms == 8000
    os.close(sink)


def test_what_is_no_message_is_refused(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    os.write(sink, b"Last login: yesterday\n")
    os.close(sink)
    with pytest.raises(ProgramError, match="no message"):
        frames.Reader(source).message(1.0)
    with pytest.raises(ProgramError, match="too long"):
        frames.write(source, bytes(frames.LONGEST + 1))


def test_noise_without_an_end_is_skipped(pipe: tuple[int, int]) -> None:
    """Larger than a pipe, so that it is written while it is read."""
    source, sink = pipe

    def talk() -> None:
        with os.fdopen(sink, "wb") as stream:
            stream.write(bytes(2**20) + b"\nready\n")

    talking = threading.Thread(target=talk)
    talking.start()
    reader = frames.Reader(source)
    lines = iter(lambda: reader.line(60.0), None)
    assert list(lines)[-1] == b"ready"
    talking.join()
