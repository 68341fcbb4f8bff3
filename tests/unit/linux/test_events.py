"""Waiting for changes in a folder: earlier ones, later ones, and ones that never come."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.linux import events


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_what_is_there_already_is_not_waited_for(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    assert events.until(lambda: True, 0.0, folder=tmp_path, pid=child.pid)


@pytest.mark.parametrize("there", [False, True])
def test_a_file_that_is_made_or_written_to_wakes_it(
    tmp_path: Path, child: subprocess.Popen[bytes], *, there: bool
) -> None:
    """It asks at the beginning and at changes alone, so without an event it would wait for ever."""
    path = tmp_path / "file"
    if there:
        path.touch()
    asked = threading.Event()

    def said() -> bool:
        asked.set()
        return path.exists() and path.read_text(encoding="ascii") == "said"

    def write() -> None:
        asked.wait()
        path.write_text("said", encoding="ascii")

    thread = threading.Thread(target=write)
    thread.start()
    assert events.until(said, 600.0, folder=tmp_path, pid=child.pid)
    thread.join()


def test_the_end_of_the_process_ends_it(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    asked: list[int] = []

    def never() -> bool:
        asked.append(1)
        if len(asked) == 1:
            child.kill()
        return False

    assert not events.until(never, 600.0, folder=tmp_path, pid=child.pid)
    assert len(asked) == 2


def test_time_that_is_over_ends_it(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    clock = time.monotonic()
    assert not events.until(lambda: False, 0.05, folder=tmp_path, pid=child.pid)
    assert time.monotonic() - clock >= 0.05


def test_a_folder_that_is_not_there_is_an_error(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(FileNotFoundError):
        events.until(lambda: True, 1.0, folder=tmp_path / "none", pid=child.pid)
