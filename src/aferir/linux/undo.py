"""Idempotent steps that remove what a killed process left."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
import shutil
import signal
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeVar

from aferir.errors import AferirError
from aferir.linux import process, starting
from aferir.linux.wait import MONOTONIC, PERIOD_S, Clock, after

MARK = "AFERIR_MARK"
"""Environment variable with the id of the journal entry to which a process belongs."""
DYING_S = 60.0
"""Time limit in s for killed processes to exit: they take a processor to do so, and those that wait
for a disk take its answer. With 5 s, cleaning gave up where a machine was busy enough.
"""
_UNDER_WAY_S = 5.0
"""Longest time in s to wait for processes that are being executed: one of them may be stopped."""
_One = TypeVar("_One")
_MNT_DETACH = 2
_ESCAPE = re.compile(r"\\([0-7]{3})")
_libc = ctypes.CDLL(None, use_errno=True)


def mounts_below(folder: Path, mountinfo: str) -> list[Path]:
    """Mount points at or below `folder`, the deepest first (proc(5), /proc/PID/mountinfo)."""
    points = []
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if len(fields) > 4:
            point = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4]))
            if point == folder or folder in point.parents:
                points.append(point)
    return sorted(points, key=lambda path: len(path.parts), reverse=True)


def remove_tree(folder: Path) -> None:
    """Unmount everything below `folder` and remove it, if it exists.

    Errors: OSError, before anything is removed, if something stays mounted, as it may be the host's
    own /dev.
    """
    if folder.is_symlink() or not folder.exists():
        return
    folder = folder.resolve()
    unmount(folder)
    try:
        if os.geteuid() != 0:
            _open_folders(folder)
        shutil.rmtree(folder)
    except RecursionError:  # a program can nest folders deeper than Python follows them
        done = process.run(["rm", "-rf", "--", str(folder)], check=False)
        if folder.exists():
            raise OSError(f"{folder} stays: {process.explain_exit(done)}") from None


def _open_folders(folder: Path) -> None:
    """Let an ordinary user, who owns the folders below `folder`, remove what is in them.

    Folders of an image may be read-only, and an overlay's work folder has no permissions at all.
    """
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IRWXU)
    for path, names, _ in os.walk(folder):  # from above, so that each is opened before it is read
        for inner in (Path(path, name) for name in names):
            with contextlib.suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)


def unmount(folder: Path) -> None:
    """Unmount everything at or below `folder`.

    Errors: OSError if something stays mounted.
    """
    for point in mounts_below(folder, _mountinfo()):
        if _libc.umount2(os.fsencode(point), _MNT_DETACH) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(point))
    if left := mounts_below(folder, _mountinfo()):
        raise OSError(f"still mounted: {', '.join(map(str, left))}")


def kill(
    proven: Callable[[list[str], dict[str, str]], bool],
    *,
    wait_s: float = DYING_S,
    clock: Clock = MONOTONIC,
) -> int:
    """Kill every process that `proven` accepts by arguments and environment; returns their number.

    Only processes that we may inspect count, and never this one. Errors: OSError if one still runs
    `wait_s` seconds after the first kill.
    """
    return _kill(lambda pid: _is(pid, proven), wait_s, clock)


def kill_marked(mark: str, *, wait_s: float = DYING_S, clock: Clock = MONOTONIC) -> int:
    """Kill every process with the mark `mark` in its environment. Errors: as of `kill`."""
    return _kill(_has_mark(mark), wait_s, clock)


def send(pid: int, number: int, is_meant: Callable[[int], bool]) -> None:
    """Send a signal to the process `pid` if it exists and `is_meant` accepts it.

    It is asked about a process that the kernel holds for us (pidfd_open(2)), so that no other one
    that has received the same ID meanwhile gets the signal. Errors: PermissionError.
    """
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if is_meant(pid):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def send_all(find: Callable[[], Collection[int]], number: int) -> None:
    """Send a signal to each process that `find` returns, if it does so again: see `send`."""
    for pid in find():
        send(pid, number, lambda one: one in find())


def _kill(is_meant: Callable[[int], bool], wait_s: float, clock: Clock) -> int:
    deadline_s = math.inf  # looking alone may take long where the machine is busy
    patience_s = after(_UNDER_WAY_S, clock)
    killed: set[int] = set()
    looks_in_vain = 0
    while looks_in_vain < 2:
        # Before the look, which does not miss what has executed its program by then.
        early = looks_in_vain == 1 and any_under_way() and clock.now_s() < patience_s
        found = [pid for pid in _processes() if is_meant(pid)]
        looks_in_vain = 0 if found else 1 if early else looks_in_vain + 1
        for pid in found:
            send(pid, signal.SIGKILL, is_meant)
        if found and clock.now_s() > deadline_s:
            raise OSError(f"processes survive SIGKILL: {found}")
        if found and not killed:
            deadline_s = after(wait_s, clock)
        killed.update(found)
        if looks_in_vain < 2:
            clock.sleep(PERIOD_S)
    return len(killed)


def processes(proven: Callable[[list[str], dict[str, str]], bool]) -> list[int]:
    """Every process except this one whose arguments and environment `proven` accepts."""
    return [pid for pid in _processes() if _is(pid, proven)]


def any_under_way() -> bool:
    """Whether any process is just being executed, and so cannot be recognised yet."""
    return any(map(starting.is_under_way, _processes()))


def each(act: Callable[[_One], object], ones: Iterable[_One]) -> None:
    """Call `act` for each of `ones`, even if some fail. Errors: the first, raised at the end."""
    errors: list[Exception] = []
    for one in ones:
        try:
            act(one)
        except (AferirError, OSError) as error:
            errors.append(error)
    if errors:
        raise errors[0]


def marked(mark: str) -> list[int]:
    """Every process but this one with the mark `mark` in its environment.

    It is called after each repetition of a program, so it parses nothing: a scan of 256 processes
    takes 3.5 ms of CPU time; with `processes` it takes 10 ms.
    """
    return list(filter(_has_mark(mark), _processes()))


def _has_mark(mark: str) -> Callable[[int], bool]:
    line = os.fsencode(f"{MARK}={mark}")
    own = os.getpid()
    return lambda pid: pid != own and line in _environment(pid)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - faster


def _environment(pid: int) -> list[bytes]:
    """Variables of a process, NAME=VALUE; none if we may not inspect it, or it has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123 - faster
            return file.read().split(b"\0")
    except OSError:
        return []


def _is(pid: int, proven: Callable[[list[str], dict[str, str]], bool]) -> bool:
    if pid == os.getpid():
        return False
    try:
        arguments = _strings(Path(f"/proc/{pid}/cmdline").read_bytes())
        pairs = _strings(Path(f"/proc/{pid}/environ").read_bytes())
    except OSError:
        return False
    variables = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    return bool(variables) and proven(arguments, variables)


def _strings(content: bytes) -> list[str]:
    return [os.fsdecode(part) for part in content.split(b"\0") if part]


def _mountinfo() -> str:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
