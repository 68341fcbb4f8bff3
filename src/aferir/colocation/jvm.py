"""Full names of a JVM's threads, asked of the JVM itself as jstack does, in milliseconds.

Source: OpenJDK, sun.tools.attach.VirtualMachineImpl for Linux and attachListener_posix.cpp. A JVM
that has not been asked yet opens its socket on SIGQUIT, when it finds a file `.attach_pid` of
root's or of its own user's; both are what jstack leaves behind, too. A socket of a dead JVM of the
same number stays in its way: it cannot take away another user's from /tmp, and never answers there.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
from pathlib import Path

from aferir.linux import wait

_JAVA_THREAD = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<nid>0x[0-9a-f]+|\d+)\b', re.MULTILINE)
_SIGQUIT = 3
_OPENS_S = 2.0
"""The time within which a JVM opens its socket."""
_ANSWERS_S = 5.0
_REQUEST = b"1\0threaddump\0\0\0\0"
_DONE = b"0\n"
_MOST_BYTES = 16 << 20
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group that listen on a socket."""


def parse_dump(text: str) -> dict[int, str]:
    """Thread number to Java's full name; `nid` is hexadecimal up to JDK 20, decimal after."""
    return {int(found["nid"], 0): found["name"] for found in _JAVA_THREAD.finditer(text)}


def thread_names(pid: int) -> dict[int, str]:
    """Thread number to Java's full name; {} where it is no JVM, or gives no answer.

    May take seconds where the machine is busy; its threads pause for milliseconds meanwhile.
    """
    if not answers_quit(pid):
        return {}
    try:
        inside = _number_inside(Path(f"/proc/{pid}"))
        folder = Path("/proc", str(pid), "root", "tmp")  # the JVM's own, in its container too
        path = folder / f".java_pid{inside}"
        trigger = folder / f".attach_pid{inside}"
        if not path.exists():
            _have_it_opened(pid, path, trigger)
        try:
            said = _ask(pid, path)
        except ConnectionRefusedError:  # of a JVM that has died
            path.unlink()
            _have_it_opened(pid, path, trigger)
            said = _ask(pid, path)
        return _as_outside(pid, parse_dump(said))
    except OSError:
        return {}


def answers_quit(pid: int) -> bool:
    """Whether a process is a JVM that answers SIGQUIT, and does not die of it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return "libjvm.so" in maps and bool(found and int(found[1], 16) >> (_SIGQUIT - 1) & 1)


def _have_it_opened(pid: int, path: Path, trigger: Path) -> None:
    # Anybody may write to /tmp: no link that somebody has put there is followed.
    os.close(os.open(trigger, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        os.kill(pid, signal.SIGQUIT)
        wait.until(path.exists, wait.after(_OPENS_S))
    finally:
        with contextlib.suppress(OSError):
            trigger.unlink()


def _ask(pid: int, path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWERS_S)
        connection.connect(str(path))
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(told)[0] != pid:  # anybody may open one in /tmp (unix(7))
            raise PermissionError(f"{path} is not of process {pid}")
        connection.sendall(_REQUEST)
        answer = b""
        while len(answer) < _MOST_BYTES and (part := connection.recv(1 << 20)):
            answer += part
    return answer.decode("utf-8", "replace") if answer.startswith(_DONE) else ""


def _number_inside(folder: Path) -> int:
    """Number of a process or thread in the innermost name space, as the JVM knows it."""
    status = (folder / "status").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^NSpid:\s*(.*)$", status, re.MULTILINE)
    return int(found[1].split()[-1] if found else folder.name)


def _as_outside(pid: int, names: dict[int, str]) -> dict[int, str]:
    """By the numbers that we know the threads under: a container's JVM has others."""
    numbers = {}
    for path in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            numbers[_number_inside(path)] = int(path.name)
    return {numbers[tid]: name for tid, name in names.items() if tid in numbers}
