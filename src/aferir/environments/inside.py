"""Runs commands and copies files through `aferir-inside`, the first program of an instance.

The program communicates over its standard input and output, which every tool that starts an
instance passes on. So a kind of environment needs no more than a command line, commands start
within a millisecond, and they have exactly the isolation of the tool. The messages are those of
native/inside/frames.hpp: `u32 size | u8 kind | u32 task | payload`, little endian.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import select
import struct
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import process, steady, undo, wait
from aferir.linux.process import Completed

PROGRAM = "aferir-inside"
_HEAD = struct.Struct("<IBI")
_EXITED = struct.Struct("<iQ")
_PIECE = 1 << 16
_NOT_THERE = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)
_KILL_S = 20.0
"""Time limit in s for killed processes to exit, on a busy host."""
_ENDED = "the instance ended, and the program with it"


class _Message(msgspec.Struct, frozen=True):
    kind: str
    task: int
    payload: bytes = b""


class Inside:
    """One connection. Tasks may run concurrently, each from its own thread of the caller."""

    def __init__(self, read: int, write: int) -> None:
        """Use the file descriptors of two pipes, which the caller closes."""
        self._read, self._write = read, write
        self._buffer = b""
        self._turn = threading.Lock()
        self._tasks: dict[int, queue.SimpleQueue[_Message | None]] = {}
        self._numbers = iter(range(1, 1 << 31))
        self._open = True

    def greet(self, timeout_s: float) -> None:
        """Wait for the first message of the program inside, which says that the program runs.

        Errors: ProgramError if it exits, or sends nothing in time.
        """
        deadline_s = wait.after(timeout_s)
        while (message := self._taken()) is None:
            readable, _, _ = select.select([self._read], [], [], wait.left_s(deadline_s))
            if not readable:
                raise ProgramError(f"nothing was heard from it within {timeout_s:g} s")
            if not self._more():
                raise ProgramError("its first program ended at once")
        if message.kind != "H":
            raise ProgramError("its first program does not speak as it should")
        # The thread may still run when the caller has closed its descriptor, whose number may then
        # be that of another file: it reads, and closes, one of its own.
        self._read = os.dup(self._read)
        threading.Thread(target=self._listen, daemon=True).start()

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program to its end; its duration is measured inside, from start to end.

        Processes that it left in the background are not waited for. Errors: as of `process.run`.
        """
        variables = {**(environment or {}), undo.MARK: uuid.uuid4().hex}
        words = [*command, *(f"{name}={value}" for name, value in variables.items())]
        payload = b"".join(os.fsencode(word) + b"\0" for word in words)
        task, answers = self._begun()
        started = steady.unix_ns()
        try:
            self._send("R", task, struct.pack("<I", len(command)) + payload)
            done = self._waited(task, answers, tuple(command), started, timeout_s)
        finally:
            del self._tasks[task]
        if check and done.exit_code != 0:
            raise ProgramError(f"`{' '.join(command)}` {process.explain_exit(done)}")
        return done

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file in, preserving its mode. Errors: ProgramError if it fails."""
        task, answers = self._begun()
        try:
            with source.open("rb") as stream:
                mode = os.fstat(stream.fileno()).st_mode & 0o7777
                self._send("P", task, struct.pack("<I", mode) + os.fsencode(str(destination)))
                while piece := stream.read(_PIECE):
                    self._send("D", task, piece)
            self._send("Z", task)
            answer = answers.get()
        finally:
            del self._tasks[task]
        if answer is None or answer.kind != "T":
            raise ProgramError(f"{source} cannot be put to {destination}: {_why(answer)}")

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file out. Errors: ProgramError if it does not exist or is not regular."""
        task, answers = self._begun()
        try:
            self._send("G", task, os.fsencode(str(source)))
            answer = answers.get()
            if answer is not None and answer.kind in "DT":
                destination.parent.mkdir(parents=True, exist_ok=True)
                with destination.open("wb") as stream:
                    while answer is not None and answer.kind == "D":
                        stream.write(answer.payload)
                        answer = answers.get()
        finally:
            del self._tasks[task]
        if answer is None or answer.kind != "T":
            raise ProgramError(f"{source} in the instance cannot be got: {_why(answer)}")

    def _waited(
        self,
        task: int,
        answers: queue.SimpleQueue[_Message | None],
        command: tuple[str, ...],
        started: int,
        timeout_s: float | None,
    ) -> Completed:
        output = {"O": bytearray(), "E": bytearray()}
        last: _Message | None = None
        try:
            for last in _until(answers, timeout_s):
                if last.kind not in output:
                    break
                output[last.kind] += last.payload
        except TimeoutExpired:
            said = (output["E"] + self._kill(task, answers)).decode(errors="replace")
            raise process.out_of_time(command, timeout_s, said) from None
        except BaseException:
            self._kill(task, answers)
            raise
        if last is None or last.kind in output:
            raise ProgramError(_ENDED)
        if last.kind == "F":
            raise _not_started(command[0], last)
        status, duration_ns = _EXITED.unpack(last.payload)
        return Completed(
            command,
            os.waitstatus_to_exitcode(status),
            output["O"].decode(errors="replace"),
            output["E"].decode(errors="replace"),
            started,
            duration_ns / 1e9,
        )

    def _kill(self, task: int, answers: queue.SimpleQueue[_Message | None]) -> bytes:
        """End all processes of a task; returns what it still wrote to its standard error."""
        said = b""
        with contextlib.suppress(ProgramError, TimeoutExpired):  # then it dies with the instance
            self._send("K", task)
            for message in _until(answers, _KILL_S):
                if message.kind in "XF":
                    break
                said += message.payload if message.kind == "E" else b""
        return said

    def _begun(self) -> tuple[int, queue.SimpleQueue[_Message | None]]:
        task = next(self._numbers)
        answers: queue.SimpleQueue[_Message | None] = queue.SimpleQueue()
        self._tasks[task] = answers
        if not self._open:
            answers.put(None)
        return task, answers

    def _send(self, kind: str, task: int, payload: bytes = b"") -> None:
        message = memoryview(_HEAD.pack(len(payload), ord(kind), task) + payload)
        with self._turn:
            if not self._open:
                raise ProgramError(_ENDED)
            try:
                while message:
                    message = message[os.write(self._write, message) :]
            except OSError:
                raise ProgramError(_ENDED) from None

    def _listen(self) -> None:
        """Thread that passes messages to the tasks that wait for them, until the pipe closes."""
        while True:
            while (message := self._taken()) is not None:
                if (answers := self._tasks.get(message.task)) is not None:
                    answers.put(message)
            if not self._more():
                break
        os.close(self._read)
        self._open = False
        for answers in list(self._tasks.values()):
            answers.put(None)

    def _taken(self) -> _Message | None:
        if len(self._buffer) < _HEAD.size:
            return None
        size, kind, task = _HEAD.unpack_from(self._buffer)
        end = _HEAD.size + size
        if len(self._buffer) < end:
            return None
        payload, self._buffer = self._buffer[_HEAD.size : end], self._buffer[end:]
        return _Message(chr(kind), task, payload)

    def _more(self) -> bool:
        try:
            piece = os.read(self._read, 4 * _PIECE)
        except OSError:
            return False
        self._buffer += piece
        return bool(piece)


def _until(
    answers: queue.SimpleQueue[_Message | None], timeout_s: float | None
) -> Iterator[_Message]:
    """Messages as they arrive, until the instance ends. Errors: TimeoutExpired."""
    deadline_s = None if timeout_s is None else wait.after(timeout_s)
    while True:
        left_s = None if deadline_s is None else wait.left_s(deadline_s)
        try:
            message = answers.get(timeout=left_s)
        except queue.Empty:
            raise TimeoutExpired("it took too long") from None
        if message is None:
            return
        yield message


def _not_started(program: str, message: _Message) -> MissingError | ProgramError:
    (number,) = struct.unpack_from("<i", message.payload)
    said = f"the program `{program}` cannot be run in the instance: {_why(message)}"
    if number in _NOT_THERE:
        return MissingError(said, remedy="put it there first, or check its mode")
    return ProgramError(said)


def _why(message: _Message | None) -> str:
    return _ENDED if message is None else message.payload[4:].decode(errors="replace")
