"""A service of sleeping threads, and a journal entry for changes to it."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aferir.colocation import admission, attributes, leaving, remembered, service
from aferir.colocation.admission import Bandwidth
from aferir.colocation.attributes import Attributes, Found
from aferir.linux import cgroup, journal, process, wait
from aferir.linux.journal import Entry
from tests.waiting import eventually

_SLEEPERS = """
import sys, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(1000,)).start()
print("ready", flush=True)
for _ in sys.stdin:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    print("started", flush=True)
"""
_ATTEMPTS = 5


@contextmanager
def sleeping(niceness: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process of four threads, and one more for each line that it reads."""
    child = process.start(
        ["nice", "-n", str(niceness), sys.executable, "-c", _SLEEPERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    try:
        yield child
    finally:
        process.end(child, grace_s=0.1)


@contextmanager
def announced() -> Iterator[Entry]:
    """An entry; afterwards nothing is left of what was made and changed under it."""
    before = sound_account()
    made = journal.write(remembered.KIND, {})
    yield made
    assert remembered.undo(made) == []
    assert cgroup.find(f"aferir-{made.id}", cgroup.layout()) == []
    assert list(journal.entries()) == []
    assert nothing_leaked(before)


def sound_account() -> Bandwidth | None:
    """The kernel's account of reservations, once it is not below 0: until then it admits nothing.

    Containers with CPUs of their own bring it there if they come just when a thread leaves its
    reservation (see `batch.make`); tests beside this one make some.
    """

    def is_sound() -> bool:
        now = admission.sound_bandwidth()
        return now is None or now.total >= 0

    eventually(is_sound, look_every_s=0.05)
    return admission.read_bandwidth()


def reserve(tid: int, wanted: Attributes) -> None:
    """Give a thread a reservation, as soon as the kernel's account admits it."""

    def is_admitted() -> bool:
        try:
            leaving.put(tid, wanted)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            sound_account()
            return False
        return True

    eventually(is_admitted)


def nothing_leaked(before: Bandwidth | None, within_s: float = 60.0) -> bool:
    """Whether the reservations of the machine soon fall to what they were before."""
    return wait.until(
        lambda: before is None or admission.more_than(before) <= 0,
        wait.after(within_s),
        period_s=0.02,
    )


def found(pid: int) -> dict[int, Found | None]:
    return {tid: attributes.find(pid, tid) for tid in service.threads((pid,))}


def start_thread(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()


def _used(tid: int) -> str:
    return attributes.read_quickly(f"/proc/{tid}/schedstat").split()[0]


def ran_within(tid: int, seconds: float) -> bool:
    before = _used(tid)
    return wait.until(lambda: _used(tid) != before, wait.after(seconds), period_s=0.01)


def runs(tid: int) -> None:
    """Wait until the thread runs, however long others keep it from the processor."""
    before = _used(tid)
    eventually(lambda: _used(tid) != before)


def once(is_so: Callable[[], bool]) -> bool:
    """Whether it holds in one of several attempts, as other programs reserve CPU time, too."""
    return any(is_so() for _ in range(_ATTEMPTS))
