"""A service's threads are listed only after a change, and no change is overlooked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from aferir.colocation import service
from aferir.colocation.service import ServiceSpec
from aferir.colocation.service_threads import Service
from aferir.colocation.usage import Watch
from aferir.linux import process

pytestmark = pytest.mark.integration

_SWAPPING = """
import os, sys, threading, time
def start():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    return end, thread
now = [start() for _ in range(30)]
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        end, thread = now.pop(0)
        end.set()
        thread.join()
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):  # ended, but still listed
            time.sleep(0.001)
        now.append(start())
    print("swapped", flush=True)
for end, _ in now:
    end.set()
"""


@pytest.fixture
def swapping() -> Iterator[subprocess.Popen[str]]:
    """A process of 31 threads, of which it replaces as many as a line says."""
    child = process.start(
        [sys.executable, "-c", _SWAPPING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    yield child
    process.end(child, grace_s=0.1)


def _swap(child: subprocess.Popen[str], count: int) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{count}\n")
    child.stdin.flush()
    child.stdout.readline()


@pytest.mark.parametrize("count", [1, 3, 30])
def test_threads_that_replaced_others_are_seen_at_the_next_look(
    swapping: subprocess.Popen[str], count: int
) -> None:
    looked = Service(ServiceSpec("pid", str(swapping.pid)))
    try:
        before = looked.look(0.0)
        _swap(swapping, count)
        after = looked.look(0.1)
        assert after == service.threads((swapping.pid,))
        assert len(after.keys() - before.keys()) == count
        assert looked.names.keys() == after.keys()
    finally:
        looked.close()


def test_others_that_are_born_are_no_reason_to_list_the_threads_again(
    swapping: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Service(ServiceSpec("pid", str(swapping.pid)))
    before = looked.look(0.0)
    for _ in range(3):
        threading.Thread(target=int).start()
    monkeypatch.setattr(Service, "_last_born", lambda _: looked._marks[0] + 3)
    assert looked.look(0.1) is before
    looked.close()


def test_use_of_threads_is_told_over_half_a_second() -> None:
    watch = Watch(None)
    tid = threading.get_native_id()
    assert watch.look(0.0, {tid: os.getpid()}, (os.getpid(),)).threads == {}
    for number in range(2_000_000):
        _ = number * number
    own = watch.look(1e9, {tid: os.getpid()}, (os.getpid(),))
    assert own.threads[tid][0] > 0
    assert own.processes[os.getpid()] > 0
    assert watch.look(0.0, {}, ()).threads is own.threads
    watch.close()
