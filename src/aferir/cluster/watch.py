"""The watcher of a cluster: notices at once when a node dies, and replaces it.

It waits for the nodes' processes by pidfd_open(2), and so uses no CPU time while all nodes run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from aferir.cluster import manager, storing
from aferir.cluster.description import State
from aferir.errors import AferirError, ProgramError
from aferir.linux import journal, process, undo, wait

_LOOK_S = 2.0
"""Seconds between checks whether the cluster was scaled or removed; a death wakes the watcher at
once."""
_LONGEST_PAUSE_S = 16.0
"""Longest pause in seconds between two attempts to replace a node."""
_STARTING_S = 60.0
_LOG = "log"


def start(name: str) -> None:
    """Start the watcher in a session of its own, and wait until it watches.

    Errors: ProgramError if it does not start.
    """
    state = storing.read(name)
    if running(state):
        return
    command = [sys.executable, "-m", "aferir", "cluster", "watch", name]
    detached = 'setsid "$@" > /dev/null 2>&1 < /dev/null &'
    mark = {undo.MARK: state.entry}
    process.run(["sh", "-c", detached, "sh", *command], environment=mark, timeout_s=_STARTING_S)
    if not wait.until(lambda: running(state), wait.after(_STARTING_S)):
        raise ProgramError(
            "the watcher, which replaces nodes that die, does not start",
            remedy=f"run it by hand to see why: aferir cluster watch {name}",
        )


def running(state: State) -> bool:
    """Whether the cluster's watcher runs."""
    try:
        pid, started, entry = _file(state.description.name).read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return False
    return entry == state.entry and journal.start_time(int(pid)) == int(started)


def watch(name: str) -> None:
    """Body of the watcher: replace dead nodes until the cluster is removed."""
    state = storing.read(name)
    pid = os.getpid()
    said = f"{pid} {journal.start_time(pid)} {state.entry}"
    journal.write_durably(_file(name), said.encode())
    pause_s, path = 1.0, storing.state_file(name)
    while True:
        seen, found = _version(path), storing.find(name)
        if found is None or found.entry != state.entry:
            return
        clock = time.monotonic()
        try:
            _, replaced = manager.repair(name) if _any_dead(found) else (found, ())
        except AferirError as error:
            _log(name, f"a node could not be replaced: {error.message}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            continue
        pause_s = 1.0
        if replaced:
            _log(name, f"{', '.join(replaced)} died; replaced in {time.monotonic() - clock:.1f} s")
        else:
            _sleep_until_one_dies(found, seen)


def log(name: str) -> list[str]:
    """Lines of the watcher's log."""
    try:
        return (storing.folder(name) / _LOG).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _any_dead(state: State) -> bool:
    made = manager.backend(state.description)
    return not all(manager.is_alive(made, node) for node in state.nodes)


def _sleep_until_one_dies(state: State, seen: tuple[int, int]) -> None:
    """Wait until a node dies or the state file is no longer that of version `seen`.

    The file is checked every `_LOOK_S`. A node that has died since it was seen alive has no process
    to wait for any more.
    """
    path = storing.state_file(state.description.name)
    with _handles(state) as handles:
        if len(handles) < len(state.nodes):
            return
        waiting = select.poll()
        for handle in handles:
            waiting.register(handle, select.POLLIN)
        while not waiting.poll(_LOOK_S * 1000) and _version(path) == seen:
            pass


@contextlib.contextmanager
def _handles(state: State) -> Iterator[list[int]]:
    """The pidfds of the nodes' processes, closed afterwards."""
    handles: list[int] = []
    try:
        for pid in manager.processes(state):
            with contextlib.suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
        yield handles
    finally:
        for handle in handles:
            os.close(handle)


def _version(path: Path) -> tuple[int, int]:
    """Version of a file that is replaced as a whole: its inode and its time; zeros without one."""
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_ino, about.st_mtime_ns


def _log(name: str, text: str) -> None:
    now = dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")
    with (
        contextlib.suppress(OSError),
        (storing.folder(name) / _LOG).open("a", encoding="utf-8") as stream,
    ):
        stream.write(f"{now} {text}\n")


def _file(name: str) -> Path:
    """File that identifies the watcher: process ID, start time, and the cluster's entry."""
    return storing.folder(name) / "watcher"
