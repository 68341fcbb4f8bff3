"""A connection to the agent of a host: open it, send requests, close it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.hosts import bootstrap, clocks, frames
from aferir.hosts.attendant import Attendant
from aferir.hosts.bundle import MACHINE, PYTHON, bundle
from aferir.hosts.messages import Alive, Answer, AnyRequest, raised
from aferir.linux import process, ssh, steady, wait
from aferir.model.host import HostSpec

_Value = TypeVar("_Value")
STEP_S = 9.0
"""Longest silence in s of a host while it is being connected."""
_SILENCE_S = 15.0
"""Silence in s after which the host is considered gone; the agent answers every keep-alive message.
"""
_UNPACKING_S = 60.0
_LOOKS = 5
"""Number of clock exchanges, of which the fastest counts."""
_SAID = (
    (
        r"HOST IDENTIFICATION HAS CHANGED|Host key verification failed",
        "its key is unknown or has changed: see who it is, `ssh-keygen -R` it and connect once",
    ),
    (r"Permission denied", "its user does not accept our key: ssh-copy-id, or name another user"),
    (r"Could not resolve|Name or service not known", "its name is unknown: see ~/.ssh/config"),
    (r"Connection refused|No route|timed out|unreachable", "is it up, and does sshd run there?"),
    (r"sudo: ", "allow sudo without a password there, or leave `sudo` out"),
    (r"not found|No such file|cannot open network namespace", "see the host's `reach`"),
)
"""Known error messages of ssh and others, with remedies."""


class Line:
    """Connection to one agent. Its methods must be called from one thread at a time."""

    def __init__(
        self,
        host: HostSpec,
        start: Callable[[HostSpec], subprocess.Popen[str]] | None = None,
        attendant: Attendant | None = None,
    ) -> None:
        """Connect to the host by its own command, or by the process that `start` starts.

        It is kept alive by `attendant`, which may serve many, or by one of its own.
        Errors: MissingError with the reason and a remedy.
        """
        self.host = host
        self.broken = False
        """True once requests are no longer possible; the agent then releases everything by itself.
        """
        self.clock: clocks.Clock | None = None
        """The clock there, told by ours; None before the first exchange."""
        self._token = secrets.token_hex(8)
        self._child = (start or _start)(host)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._sink = self._child.stdin.fileno()
        self._reader = frames.Reader(self._child.stdout.fileno())
        self._writable = select.poll()
        self._writable.register(self._sink, select.POLLOUT)
        self._turn = threading.Lock()
        self._said: list[str] = []
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()
        self._attendant = attendant or Attendant()
        try:
            self._reach()
        except BaseException:
            self.close()
            raise
        for _ in range(_LOOKS):
            self.look_at_its_clock()
        self._attendant.add(self)

    def ask(self, request: AnyRequest, answer: type[_Value], *, within_s: float = 600.0) -> _Value:
        """Send a request and return its answer.

        Errors: the error that the agent answers with, ProgramError where the connection is broken.
        """
        if self.broken:
            raise self._broken("it has been given up")
        try:
            with self._turn:
                frames.write(self._sink, msgspec.msgpack.encode(request))
            told = self._answer(within_s)
        except (OSError, frames.Silence) as error:
            raise self._broken(str(error)) from None
        except KeyboardInterrupt:  # its answer would be taken for that of the next request
            self.broken = True
            raise
        if told.error:
            raise raised(told, self.host.name)
        return msgspec.msgpack.decode(told.value, type=answer)

    def tell(self, request: AnyRequest) -> None:
        """Send a request whose answer has no value. Errors: as of `ask`."""
        self.ask(request, object)

    def close(self) -> bool:
        """Close the connection; the agent releases everything. May be called twice.

        Returns True if the agent has ended by itself. Otherwise it was killed, or the connection
        broke first, and what it made may be there still.
        """
        self._attendant.remove(self)
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        try:
            code = self._child.wait(STEP_S)
        except subprocess.TimeoutExpired:
            code = process.end(self._child)
        self._hearing.join(STEP_S)
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()
        return code == 0

    def greet(self) -> None:
        """Send a keep-alive message, unless something is being sent or the pipe is full.

        Either way the agent has heard of us, or will once it reads. Errors: OSError.
        """
        if not self._turn.acquire(blocking=False):
            return
        try:
            if self._writable.poll(0):
                alive = Alive(steady.unix_ns())
                frames.write(self._sink, msgspec.msgpack.encode(alive))
        finally:
            self._turn.release()

    def look_at_its_clock(self) -> None:
        """Exchange readings of the clocks once, which takes one round trip.

        Answers to keep-alive messages wait until the next request reads them, and tell less.
        Errors: ProgramError where the connection is broken.
        """
        try:
            with self._turn:
                sent_ns = steady.unix_ns()
                frames.write(self._sink, msgspec.msgpack.encode(Alive(sent_ns)))
            while (content := self._reader.message(_SILENCE_S)) is not None:
                told = msgspec.msgpack.decode(content, type=Answer)
                self._learn(told)
                if told.echo == sent_ns:
                    return
        except (OSError, frames.Silence) as error:
            raise self._broken(str(error)) from None
        raise self._broken("it has ended")

    def _learn(self, told: Answer) -> None:
        """Use the answer to a keep-alive message as an exchange of the clocks."""
        look = clocks.seen(told.echo, told.unix_ns)
        self.clock = clocks.Clock(look) if self.clock is None else self.clock.after(look)

    def _answer(self, within_s: float) -> Answer:
        """Answer to the last request. Errors: frames.Silence without one within that time."""
        until_s = time.monotonic() + within_s
        while (content := self._reader.message(_SILENCE_S)) is not None:
            told = msgspec.msgpack.decode(content, type=Answer)
            if not told.echo:
                return told
            self._learn(told)
            if time.monotonic() > until_s:
                raise frames.Silence(f"there is no answer within {within_s:.0f} s")
        raise self._broken("it has ended")

    def _broken(self, why: str) -> ProgramError:
        self.broken = True
        said = self._said[-1] if self._said else why
        return ProgramError(
            f"the line to host {self.host.name} is broken: {said}",
            remedy="see whether it is up: aferir hosts check FILE",
        )

    def _reach(self) -> None:
        self._send(bootstrap.shell_script(self._token))
        machine, python, other = self._await(bootstrap.SHELL, 3)
        if machine != MACHINE:
            raise self._refused(
                f"its processor is {machine}, and the programs here are for {MACHINE}",
                "install aferir on a machine like it, and start the experiment there",
            )
        if python == "-":
            found = "there is no Python" if other == "none" else f"its Python is {other}"
            raise self._refused(
                f"{found}, and the agent needs {PYTHON} as here, or msgspec beside a newer one",
                f"install python{PYTHON} there, or Python's msgspec for one from 3.11 on",
            )
        self._send(bootstrap.start_script(self._token))
        self._await(bootstrap.PYTHON, 1)
        ours = bundle()
        self._send(bootstrap.unpack_script(self._token, ours.digest))
        state, where = self._await(bootstrap.PYTHON, 2)
        if state == "need":
            self._send(bootstrap.bundle_bytes(ours.content))
            state, where = self._await(bootstrap.PYTHON, 2, within_s=_UNPACKING_S)
        if state not in ("have", "unpacked"):
            raise self._refused(
                f"the agent cannot be put there: {where}", "see its disk and mounts"
            )
        (said,) = self._await(bootstrap.AGENT, 1, within_s=_UNPACKING_S)
        if said != "ready":
            raise self._refused(f"the agent does not start there: {said}", "see its disk")

    def _send(self, content: bytes) -> None:
        left = memoryview(content)
        try:
            while left:
                left = left[os.write(self._sink, left) :]
        except OSError:
            raise self._refused("it ends at once", "") from None

    def _await(self, mark: str, words: int, *, within_s: float = STEP_S) -> list[str]:
        """Words after that mark and our token; other output of the host is skipped."""
        deadline_s = wait.after(within_s)
        try:
            while (line := self._reader.line(wait.left_s(deadline_s))) is not None:
                told = line.decode("utf-8", "replace").strip().split(" ", words + 1)
                if told[:2] == [mark, self._token]:
                    return (told[2:] + [""] * words)[:words]
        except frames.Silence:
            raise self._refused(f"it says nothing within {within_s:g} s", "is it up?") from None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(1)
        raise self._refused("it ends at once", "")

    def _refused(self, why: str, remedy: str) -> AferirError:
        time.sleep(0.05)  # for what it says last
        said = next((line for line in reversed(self._said) if line.strip()), "")
        known = next(
            (to_do for words, to_do in _SAID if re.search(words, "\n".join(self._said))), ""
        )
        reason = f"{why} ({said})" if said else why
        return MissingError(
            f"host {self.host.name} cannot be used: {reason}",
            remedy=known or remedy or f"try by hand: {' '.join(_command(self.host))}",
        )

    def _hear(self) -> None:
        stderr = self._child.stderr
        assert stderr is not None
        with contextlib.suppress(OSError, ValueError):
            for line in stderr:
                self._said = [*self._said[-50:], line.rstrip("\n")]


def _start(host: HostSpec) -> subprocess.Popen[str]:
    """Start the command. Errors: MissingError where it does not exist here."""
    try:
        return process.start(
            _command(host),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            survives_us=True,  # for a moment: it ends with its standard input
        )
    except MissingError as error:
        said = f"host {host.name} cannot be used: {error.message}"
        raise MissingError(said, remedy="see the host's `reach`") from None


def _command(host: HostSpec) -> list[str]:
    """Command that runs a shell on the host."""
    shell = ("sudo", "-n", "sh") if host.sudo else ("sh",)
    return [*ssh.unattended(host.reach), *shell]
