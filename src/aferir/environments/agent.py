"""Runs programs and copies files in a guest through qemu-guest-agent.

Source: QEMU Guest Agent Protocol Reference (guest-exec, guest-exec-status, guest-file-*).
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import socket as sockets
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from aferir.environments.jsonsocket import JsonSocket
from aferir.errors import MissingError, ProgramError
from aferir.linux import process, steady, undo, wait
from aferir.linux.process import Completed
from aferir.linux.running import Running

_CHUNK = 1 << 20
"""Size in bytes of the piece of a file that one message carries."""
_POLL_S = (0.002, 0.02)
"""First and longest polling period of a running program, in s; it doubles in between."""
_ANSWER_S = 300.0
"""Time limit in s of an answer: the agent has one thread, and is slow on an emulated, shared CPU.
With a load of 38 on two CPUs, processes still existed 60 s after they had been killed.
"""
_VARIABLES = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
_KILL = """
kill -TERM "$FIRST"
left=20
while [ $left -gt 0 ] && kill -0 "$FIRST"; do sleep 0.1; left=$((left-1)); done
left=20 vain=0
while [ $left -gt 0 ] && [ $vain -lt 2 ]; do
  found=$(grep -slzxF "$AIM" /proc/[0-9]*/environ)
  if [ -n "$found" ]; then vain=0; else vain=$((vain+1)); sleep 0.1; fi
  for file in $found; do pid=${file#/proc/}; kill -KILL "${pid%/environ}"; done
  left=$((left-1))
done 2> /dev/null
true
"""
"""Script that kills every process whose environment has the line AIM, until two looks find none (a
process that is just being executed has no environment for a moment); the process FIRST first gets
SIGTERM, and 2 s to end. The exit code of grep is ignored, since grep fails if any process ends
while it reads.
"""
_RECEIVE = """
for port in /dev/vport*p2; do :; done
: > "$3" || exit
while [ "$(stat -c %s "$3")" != "$1" ]; do
  head -c "$1" < "$port" > "$3" || exit
done
chmod "$2" "$3"
"""
"""Script that receives a file. It retries, since the guest's kernel reads nothing from the port
until it knows that the other end is open.
"""


def run(
    socket: JsonSocket,
    command: Sequence[str],
    *,
    timeout_s: float | None,
    environment: Mapping[str, str],
) -> Completed:
    """Run a program to its end and capture its output (up to 16 MiB of each stream).

    Its environment carries a mark by which everything that it started can be killed.

    Errors: MissingError if the guest has no such program, TimeoutExpired, ProgramError if the
    agent does not answer.
    """
    started = steady.unix_ns()
    clock = time.perf_counter()
    mark = uuid.uuid4().hex
    variables = {**environment, undo.MARK: mark}
    pid = _start(socket, ["setsid", *command], variables, capture=True)
    status = _ended(socket, pid, timeout_s)
    elapsed = time.perf_counter() - clock
    if status is None:
        said = _text(_kill_marked(socket, mark, pid), "err-data")
        raise process.out_of_time(command, timeout_s, said)
    signal = status.get("signal")
    code = -int(signal) if signal is not None else int(status["exitcode"])
    done = Completed(
        tuple(command), code, _text(status, "out-data"), _text(status, "err-data"), started, elapsed
    )
    if code in (126, 127) and done.stderr.startswith("setsid: failed to execute"):
        raise not_run(command[0], done.stderr)
    return done


def not_run(program: str, said: str) -> MissingError:
    """Error about a program that the guest could not execute."""
    return MissingError(
        f"the program `{program}` cannot be run in the guest: {said.strip()}",
        remedy="put it there first, or check its mode",
    )


def put(socket: JsonSocket, port: Path, source: Path, destination: PurePosixPath) -> None:
    """Copy one file into the guest, preserving its mode and creating missing folders.

    Its bytes are sent through `port` in binary: through the agent, which requires base64, a MiB
    took over a second in an emulated guest. Errors: ProgramError if the guest does not accept
    it.
    """
    _must(socket, ["mkdir", "-p", str(destination.parent)])
    with source.open("rb") as content, sockets.socket(sockets.AF_UNIX) as line:
        size, mode = os.fstat(content.fileno()).st_size, os.fstat(content.fileno()).st_mode & 0o7777
        line.settimeout(_ANSWER_S)
        line.connect(str(port))
        words = [str(size), f"{mode:o}", str(destination)]
        pid = _start(socket, ["sh", "-c", _RECEIVE, "sh", *words], {}, capture=True)
        with contextlib.suppress(OSError):  # the guest says why it takes no more
            line.sendfile(content)
        status = _ended(socket, pid, _ANSWER_S)
    if status is None or status.get("exitcode") != 0:
        said = "it takes too long" if status is None else _text(status, "err-data").strip()
        raise ProgramError(f"{source.name} could not be put into the guest: {said}")


def get(socket: JsonSocket, source: PurePosixPath, destination: Path) -> None:
    """Copy one file of the guest to the host.

    Errors: ProgramError if it does not exist.
    """
    request: dict[str, object] = {"path": str(source), "mode": "r"}
    handle = socket.ask("guest-file-open", request, timeout_s=_ANSWER_S)
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        with destination.open("wb") as copy:
            while True:
                request = {"handle": handle, "count": _CHUNK}
                part = socket.ask("guest-file-read", request, timeout_s=_ANSWER_S)
                copy.write(base64.b64decode(part["buf-b64"]))
                if part["eof"]:
                    return
    finally:
        socket.ask("guest-file-close", {"handle": handle}, timeout_s=_ANSWER_S)


def _start(
    socket: JsonSocket, command: Sequence[str], environment: Mapping[str, str], *, capture: bool
) -> int:
    variables = {**_VARIABLES, **environment}
    answer = socket.ask(
        "guest-exec",
        {
            "path": command[0],
            "arg": list(command[1:]),
            "env": [f"{key}={value}" for key, value in variables.items()],
            "capture-output": capture,
        },
        timeout_s=_ANSWER_S,
    )
    return int(answer["pid"])


def _ended(socket: JsonSocket, pid: int, limit_s: float | None) -> dict[str, Any] | None:
    """Final status of a program; None if it still runs after `limit_s`.

    Time in which we were stopped ourselves does not count.
    """
    clock, pause = Running(), _POLL_S[0]
    while True:
        if (status := _status(socket, pid)) is not None:
            return status
        left = math.inf if limit_s is None else limit_s - clock.now_s()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause = min(pause * 2, _POLL_S[1])


def _status(socket: JsonSocket, pid: int) -> dict[str, Any] | None:
    """Status of a program that has ended, which the agent then forgets; None while it runs."""
    status = socket.ask("guest-exec-status", {"pid": pid}, timeout_s=_ANSWER_S)
    return dict(status) if status["exited"] else None


def _kill_marked(socket: JsonSocket, mark: str, program: int) -> dict[str, Any]:
    """Kill a program and its descendants; returns its status, which the agent discards."""
    aim = {"AIM": f"{undo.MARK}={mark}", "FIRST": str(program)}
    killer = _start(socket, ["/bin/sh", "-c", _KILL], aim, capture=False)
    deadline_s = wait.after(_ANSWER_S)
    status: dict[str, Any] | None = None
    for pid in (killer, program):
        status = wait.until(partial(_status, socket, pid), deadline_s, period_s=_POLL_S[1])
        if status is None:
            raise ProgramError(
                "a program in the guest survives SIGKILL",
                remedy="stop what else runs on this machine; it ends with its guest",
            )
    return status or {}


def _must(socket: JsonSocket, command: Sequence[str]) -> None:
    done = run(socket, command, timeout_s=_ANSWER_S, environment={})
    if done.exit_code != 0:
        raise ProgramError(f"`{' '.join(command)}` failed in the guest: {done.stderr.strip()}")


def _text(status: Mapping[str, Any], key: str) -> str:
    return base64.b64decode(status.get(key, "")).decode("utf-8", "replace")
