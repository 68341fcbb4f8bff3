"""Full names of a JVM's threads, requested from the JVM as jstack does; takes milliseconds.

Source: OpenJDK, sun.tools.attach.VirtualMachineImpl for Linux and attachListener_posix.cpp. A JVM
opens its attach socket on the first SIGQUIT, if it finds a file `.attach_pid` owned by root or by
its own user; jstack leaves the same traces. A socket left by a dead JVM with the same process ID
blocks a new one: it never answers, and another user's cannot be removed from /tmp.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
from pathlib import Path

from aferir.linux import undo, wait

_JAVA_THREAD = re.compile(
    r'^"(?P<name>.*)" .*\bnid=(?P<nid>0x[0-9a-f]{1,16}|[0-9]{1,19})\b', re.MULTILINE
)
_SIGQUIT = 3
_OPENS_S = 2.0
"""Seconds within which a JVM opens its attach socket."""
_ANSWERS_S = 5.0
_REQUEST = b"1\0threaddump\0\0\0\0"
_DONE = b"0\n"
_MOST_BYTES = 16 << 20
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group ID of the process that listens on a socket (struct ucred)."""


def parse_dump(text: str) -> dict[int, str]:
    """Thread ID to Java's full name; `nid` is hexadecimal up to JDK 20, decimal after."""
    return {
        int(nid, 16 if nid.startswith("0x") else 10): found["name"]
        for found in _JAVA_THREAD.finditer(text)
        for nid in [found["nid"]]
    }


def thread_names(pid: int) -> dict[int, str]:
    """Thread ID to Java's full name; {} if the process is no JVM, or does not answer.

    May take seconds on a busy machine; the JVM's threads pause for milliseconds meanwhile.
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
    """Whether a process is a JVM that handles SIGQUIT, and so is not ended by the signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return "libjvm.so" in maps and bool(found and int(found[1], 16) >> (_SIGQUIT - 1) & 1)


def _have_it_opened(pid: int, path: Path, trigger: Path) -> None:
    # Anybody may write to /tmp, so symbolic links in it are not followed.
    os.close(os.open(trigger, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        undo.send(pid, signal.SIGQUIT, answers_quit)
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
    """ID of a process or thread in the innermost PID namespace, as the JVM knows it."""
    status = (folder / "status").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^NSpid:\s*(.*)$", status, re.MULTILINE)
    return int(found[1].split()[-1] if found else folder.name)


def _as_outside(pid: int, names: dict[int, str]) -> dict[int, str]:
    """Replace the thread IDs of a JVM in a container by the IDs in this PID namespace."""
    numbers = {}
    for path in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            numbers[_number_inside(path)] = int(path.name)
    return {numbers[tid]: name for tid, name in names.items() if tid in numbers}
