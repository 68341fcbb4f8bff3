"""A connection to the agent of a host: open it, send requests, close it."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, TypeVar

import msgspec

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.hosts import advice, bootstrap, bundle, clocks, frames
from aferir.hosts.attendant import Attendant
from aferir.hosts.messages import READY, REMEDY, Alive, Answer, AnyRequest, raised
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
"""Number of exchanges of clock readings after connecting, of which the most precise counts."""
_LAST_WORDS_S = 0.05
"""Time in s to wait for error output of the connecting command if it still runs."""
_ENDING_S = 3.0
"""Time in s to wait for a host that closed its output to end, and for its last error output."""
_GIVING_UP_S = 0.5
"""Time in s for the command that reaches a host to end by itself, once it is no longer needed."""
_PIECE = 2**12
"""Largest number of bytes of error output to read at once, and to keep of one line."""
_LINES = 50
"""Number of last lines of error output to keep."""
_PYTHONS = {
    bootstrap.NO_PYTHON: "there is no Python",
    bootstrap.BROKEN: "its python3 does not start",
}


class Line:
    """Connection to one agent. Its methods must be called from one thread at a time."""

    def __init__(
        self,
        host: HostSpec,
        start: Callable[[HostSpec], subprocess.Popen[str]] | None = None,
        attendant: Attendant | None = None,
    ) -> None:
        """Connect to the host by its own command, or by the process that `start` starts.

        The connection is kept alive by `attendant`, which may serve many connections; None: by one
        of its own. Errors: MissingError with the reason and a remedy.
        """
        self.host = host
        self.broken = False
        """True once requests are no longer possible; the agent then releases everything by itself.
        """
        self.clock: clocks.Clock | None = None
        """Relation of the host's clock to ours; None before the first exchange."""
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
        self._printed = ""
        self._serving = False
        self._released = False
        self._ended: bool | None = None
        errors, self._child.stderr = self._child.stderr, None  # the thread alone closes it
        self._hearing = threading.Thread(target=self._hear, args=(errors,), daemon=True)
        self._hearing.start()
        self._attendant = attendant or Attendant()
        try:
            self._reach()
            self._serving = True
            for _ in range(_LOOKS):
                self.look_at_its_clock()
        except BaseException:
            self.close(_GIVING_UP_S)
            raise
        self._attendant.add(self)

    def ask(self, request: AnyRequest, answer: type[_Value], *, within_s: float = 600.0) -> _Value:
        """Send a request and return its answer.

        Errors: the error that the agent answers with, ProgramError if the connection is broken.
        """
        if self.broken:
            raise self._broken("it has been given up")
        try:
            self._write(request)
            told = self._answer(within_s)
        except KeyboardInterrupt:  # its answer would be taken for that of the next request
            self.broken = True
            raise
        if told.error:
            raise raised(told, self.host.name)
        return msgspec.msgpack.decode(told.value, type=answer)

    def tell(self, request: AnyRequest) -> None:
        """Send a request whose answer has no value. Errors: as of `ask`."""
        self.ask(request, object)

    def close(self, within_s: float = STEP_S) -> bool:
        """Close the connection; the agent releases everything. May be called twice.

        The agent has `within_s` to do so. Then the command that reaches the host is ended as well,
        unless the host has closed its end: an ssh that other sessions share is left to them.

        Returns True if the agent confirmed its end; otherwise what it created may still exist.
        """
        if self._ended is None:
            self._ended = self._end(within_s)
        return self._ended

    def _end(self, within_s: float) -> bool:
        self._attendant.remove(self)
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        ended = self._serving and self._farewell(within_s)
        try:
            self._child.wait(_GIVING_UP_S if self._serving else within_s)
        except subprocess.TimeoutExpired:
            # What a profile left running holds the session open; other sessions hold ssh alone.
            if ended and self._reader.has_ended():
                threading.Thread(target=self._child.wait, daemon=True).start()
            else:
                process.end(self._child)
        if self._child.stdout is not None:
            self._child.stdout.close()
        return ended

    def _farewell(self, within_s: float) -> bool:
        """True if the agent reports within `within_s` that it has released everything."""
        deadline_s = wait.after(within_s)
        with contextlib.suppress(AferirError, OSError, frames.Silence, msgspec.MsgspecError):
            while not self._released:
                content = self._reader.message(wait.left_s(deadline_s))
                if content is None:
                    break
                self._released = msgspec.msgpack.decode(content, type=Answer).ended
        return self._released

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

        It is more precise than keep-alive messages, whose answers are read only by the next
        request. Errors: ProgramError if the connection is broken.
        """
        sent_ns = steady.unix_ns()
        self._write(Alive(sent_ns))
        while (told := self._next()).echo != sent_ns:
            self._learn(told)
        self._learn(told)

    def _write(self, request: AnyRequest) -> None:
        """Send a request. Errors: ProgramError if it is too long or the connection is broken."""
        content = msgspec.msgpack.encode(request)
        try:
            with self._turn:
                frames.write(self._sink, content)
        except OSError as error:
            raise self._broken(str(error)) from None

    def _next(self) -> Answer:
        """Next message of the agent. Errors: ProgramError if the connection is broken.

        An agent's last message may come when the next request has already been sent: after it
        has heard nothing for too long, or was ended by somebody. It answers no request.
        """
        try:
            content = self._reader.message(_SILENCE_S)
            told = None if content is None else msgspec.msgpack.decode(content, type=Answer)
        except ProgramError as error:
            raise self._broken(error.message, error.remedy) from None
        except (OSError, frames.Silence, msgspec.MsgspecError) as error:
            raise self._broken(str(error)) from None
        if told is None:
            raise self._broken("it has ended")
        if told.ended:
            self._released = True
            raise self._broken("its agent has released everything and ended")
        return told

    def _learn(self, told: Answer) -> None:
        """Use the answer to a keep-alive message as an exchange of the clocks."""
        look = clocks.seen(told.echo, told.unix_ns)
        self.clock = clocks.Clock(look) if self.clock is None else self.clock.after(look)

    def _answer(self, within_s: float) -> Answer:
        """Answer to the last request. Errors: ProgramError without one within `within_s`."""
        until_s = time.monotonic() + within_s
        while (told := self._next()).echo:
            self._learn(told)
            if time.monotonic() > until_s:
                raise self._broken(f"there is no answer within {within_s:.0f} s")
        return told

    def _broken(self, why: str, remedy: str = "") -> ProgramError:
        self.broken = True
        said = f" ({self._said[-1]})" if self._said else ""
        return ProgramError(
            f"the line to host {self.host.name} is broken: {why}{said}",
            remedy=remedy or "see whether it is up: aferir hosts check FILE",
        )

    def _reach(self) -> None:
        self._send(bootstrap.shell_script(self._token))
        machine, python, other = self._await(bootstrap.SHELL, 3)
        if machine != bundle.MACHINE:
            raise self._refused(
                f"its processor is {machine}, and the programs here are for {bundle.MACHINE}",
                "install aferir on a machine like it, and start the experiment there",
            )
        if python == bootstrap.TERMINAL:
            raise self._refused(
                "its input is a terminal, which alters what is sent",
                "leave options such as -t and -it out of `reach`",
            )
        if python == "-":
            raise self._refused(
                f"{_PYTHONS.get(other, f'its Python is {other}')}, and the agent needs "
                f"{bundle.PYTHON} as here, or msgspec beside a newer one",
                f"install python{bundle.PYTHON} there, or Python's msgspec for one from 3.11 on",
            )
        self._send(bootstrap.start_script(self._token))
        self._await(bootstrap.PYTHON, 1)
        self._send(bootstrap.unpack_script(self._token, bundle.digest()))
        state, where = self._await(bootstrap.PYTHON, 2)
        if state == "need":
            self._send(bootstrap.archive_bytes(bundle.archive()))
            state, where = self._await(bootstrap.PYTHON, 2, within_s=_UNPACKING_S)
        if state not in ("have", "unpacked"):
            raise self._refused(
                f"the agent cannot be put there: {where}", "see its disk and mounts"
            )
        (said,) = self._await(bootstrap.AGENT, 1, within_s=_UNPACKING_S)
        if said != READY:
            why, _, remedy = said.partition(REMEDY)
            raise self._refused(f"the agent does not start there: {why}", remedy or "see its disk")

    def _send(self, content: bytes) -> None:
        """Send the input of one step; if the host has ended, its last output will tell why."""
        left = memoryview(content)
        with contextlib.suppress(OSError):
            while left:
                left = left[os.write(self._sink, left) :]

    def _await(self, mark: str, words: int, *, within_s: float = STEP_S) -> list[str]:
        """Wait for a line with `mark` and our token; returns its other words, skips other lines."""
        deadline_s = wait.after(within_s)
        with contextlib.suppress(frames.Silence):
            while (line := self._reader.line(wait.left_s(deadline_s))) is not None:
                text = line.decode("utf-8", "replace").strip()
                told = text.split(" ", words + 1)
                if told[:2] == [mark, self._token]:
                    return (told[2:] + [""] * words)[:words]
                self._printed = text or self._printed
                if text and not wait.left_s(deadline_s):  # it may print without end
                    break
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._child.wait(_ENDING_S)
                raise self._silent("it ends at once")
        raise self._silent(
            f"it does not answer within {within_s:g} s",
            "is it up, and does a login there take less than that?",
        )

    def _refused(self, why: str, remedy: str) -> AferirError:
        return MissingError(f"host {self.host.name} cannot be used: {why}", remedy=remedy)

    def _silent(self, why: str, remedy: str = "") -> AferirError:
        """Error about a host that does not answer, with the last lines that came from it."""
        # Where it has ended, all that it says is on its way.
        self._hearing.join(_LAST_WORDS_S if self._child.poll() is None else _ENDING_S)
        last = next((line for line in reversed(self._said) if line.strip()), "")
        said = "; ".join(advice.quoted(one) for one in (last, self._printed) if one)
        known = advice.remedy_for("\n".join(self._said)) or remedy
        by_hand = shlex.join((*self.host.reach, *_shell(self.host)))
        return self._refused(f"{why} ({said})" if said else why, known or f"try by hand: {by_hand}")

    def _hear(self, errors: IO[str] | None) -> None:
        """Read the error output, in a thread, until all processes that hold it open have ended."""
        assert errors is not None
        rest = b""
        with errors:  # read without a buffer, whose lock would outlive us where we exit first
            while content := os.read(errors.fileno(), _PIECE):
                *lines, rest = (rest + content).split(b"\n")
                self._said = [*self._said, *map(_text, lines)][-_LINES:]
                rest = rest[-_PIECE:]
        self._said = [*self._said, *([_text(rest)] if rest else [])]


def _start(host: HostSpec) -> subprocess.Popen[str]:
    """Start the command that reaches the host. Errors: MissingError if it does not exist here."""
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


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _command(host: HostSpec) -> list[str]:
    """Command that runs a shell on the host."""
    return [*ssh.unattended(host.reach), *_shell(host)]


def _shell(host: HostSpec) -> tuple[str, ...]:
    return ("sudo", "-n", "sh") if host.sudo else ("sh",)
