"""A service of threads that sleep, and an entry of the journal under which it is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aferir.colocation import admission, attributes, remembered, service
from aferir.colocation.admission import Bandwidth
from aferir.colocation.attributes import Found
from aferir.linux import cgroup, journal, process, wait
from aferir.linux.journal import Entry

_SLEEPERS = """
import sys, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(1000,)).start()
print("ready", flush=True)
for _ in sys.stdin:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    print("started", flush=True)
"""


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
    before = admission.read_bandwidth()
    made = journal.write(remembered.KIND, {})
    yield made
    assert remembered.undo(made) == []
    assert cgroup.find(f"aferir-{made.id}", cgroup.layout()) == []
    assert list(journal.entries()) == []
    assert nothing_leaked(before)


def nothing_leaked(before: Bandwidth | None) -> bool:
    """Whether no more is reserved than before, or soon: others on the machine may have come."""

    def sound() -> bool:
        now = admission.read_bandwidth()
        return now is None or before is None or now.total <= before.total

    return wait.until(sound, wait.after(60.0), period_s=0.02)


def found(pid: int) -> dict[int, Found | None]:
    return {tid: attributes.find(pid, tid) for tid in service.threads((pid,))}


def start_thread(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
