"""A connection to the agent of a host: open it, send requests, close it."""

from __future__ import annotations

import contextlib
import select
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from aferir.errors import AferirError, ProgramError
from aferir.hosts import clocks, frames, opening
from aferir.hosts.attendant import Attendant
from aferir.hosts.hearing import Hearing
from aferir.hosts.messages import Alive, Answer, AnyRequest, raised
from aferir.linux import process, steady, wait
from aferir.model.host import HostSpec

_Value = TypeVar("_Value")
_LOOKS = 5
"""Number of exchanges of clock readings after connecting, of which the most precise counts."""
_GIVING_UP_S = 0.5
"""Time in s for the command that reaches a host to end by itself, once it is no longer needed."""


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
        self._child = (start or opening.start)(host)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._sink = self._child.stdin.fileno()
        self._reader = frames.Reader(self._child.stdout.fileno())
        self._writable = select.poll()
        self._writable.register(self._sink, select.POLLOUT)
        self._turn = threading.Lock()
        self._serving = False
        self._released = False
        self._ended: bool | None = None
        self._hearing = Hearing(self._child)
        self._attendant = attendant or Attendant()
        try:
            opening.Opening(host, self._child, self._reader, self._hearing).carry_out()
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

    def close(self, within_s: float = opening.STEP_S) -> bool:
        """Close the connection; the agent releases everything. May be called twice.

        The agent has `within_s` to do so. Then the command that reaches the host is ended as well,
        unless the host has closed its end: an ssh that other sessions share is left to them.

        Returns True if the agent confirmed its end; otherwise what it created may still exist.
        """
        if self._ended is None:
            self._ended = self._end(within_s)
        return self._ended

    def hang_up(self) -> None:
        """End the sending of requests, at which the agent ends; any thread may call it.

        A request that runs fails. What was opened later may have the number of our handle, so
        nothing may be sent from now on.
        """
        self._attendant.remove(self)
        with self._turn:
            self.broken = True
            if self._child.stdin is not None:
                with contextlib.suppress(OSError):
                    self._child.stdin.close()

    def _end(self, within_s: float) -> bool:
        self.hang_up()
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

        Either way the agent has heard of us, or will once it reads. It hears no more of a broken
        connection, and ends. Errors: OSError.
        """
        if not self._turn.acquire(blocking=False):
            return
        try:
            if not self.broken and self._writable.poll(0):
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
                if not self.broken:
                    frames.write(self._sink, content)
                    return
        except (OSError, frames.Silence) as error:
            raise self._broken(str(error), ends=isinstance(error, OSError)) from None
        raise self._broken("it has been given up")

    def _next(self) -> Answer:
        """Next message of the agent. Errors: ProgramError if the connection is broken.

        An agent's last message may come when the next request has already been sent: after it
        has heard nothing for too long, or was ended by somebody. It answers no request.
        """
        try:
            content = self._reader.message(frames.SILENCE_S)
            told = None if content is None else msgspec.msgpack.decode(content, type=Answer)
        except ProgramError as error:
            raise self._broken(error.message, error.remedy) from None
        except (OSError, frames.Silence, msgspec.MsgspecError) as error:
            raise self._broken(str(error)) from None
        if told is None:
            raise self._broken("it has ended", ends=True)
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

    def _broken(self, why: str, remedy: str = "", *, ends: bool = False) -> ProgramError:
        """Error that quotes the host's last line; with `ends`, that of its end is waited for."""
        self.broken = True
        lines = self._hearing.last_lines(ends=True) if ends else self._hearing.lines
        said = f" ({lines[-1]})" if lines else ""
        return ProgramError(
            f"the line to host {self.host.name} is broken: {why}{said}",
            remedy=remedy or "see whether it is up: aferir hosts check FILE",
        )
