"""The agent at the other end of a connection: `python -m aferir.hosts.agent TOKEN`.

Requests are carried out one after another. When the controller is gone, because the connection
closed or was silent for too long, running programs are ended and everything is released.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from pathlib import Path

import msgspec

import aferir
from aferir.errors import AferirError, ProgramError
from aferir.hosts import frames
from aferir.hosts.messages import AGENT, READY, REMEDY, Alive, Answer, AnyRequest, failure
from aferir.hosts.requests import Service
from aferir.linux import journal, scratch, steady, wait
from aferir.model.variables import PROGRAMS, PYTHON

SILENCE_S = 8.0
"""Silence in s after which the controller is considered gone."""
_AGAIN_S = 0.5
_UNDOING_S = 60.0
"""Time in s in which an interrupted request may undo what it has begun; then it is interrupted too.
"""
_LONGEST = frames.LONGEST - 2**10
"""Largest size in bytes of an answer's value; the rest of the message is for its other fields."""
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that end the agent; a shell starts background processes with SIGINT ignored, and Python
keeps that setting.
"""


class Agent:
    """Loop that reads requests from a connection and passes them to the service."""

    def __init__(self, source: int, sink: int, service: Service) -> None:
        self._reader = frames.Reader(source)
        self._sink = sink
        self._service = service
        self._requests: queue.SimpleQueue[AnyRequest | None] = queue.SimpleQueue()
        self._busy = threading.Lock()
        self._turn = threading.Lock()
        self._gone = threading.Event()
        self._ending = threading.Event()
        self._interrupted = False

    def serve(self) -> None:
        """Carry out requests until the controller is gone; then release everything.

        The first signal that ends the agent interrupts the running request; further signals do not
        interrupt what the request undoes then, nor the release.
        """
        for number in _ENDING:
            signal.signal(number, self._interrupt)
        sys.unraisablehook = self._swallowed
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            with contextlib.suppress(KeyboardInterrupt, OSError, frames.Silence):
                try:
                    self._answer_all()
                finally:  # a signal that comes before this line is suppressed above
                    self._ending.set()
        finally:
            self._ending.set()
            self._service.release_all()

    def _answer_all(self) -> None:
        while (request := self._requests.get()) is not None:
            with self._busy:  # while it is sent, too: nobody may read it any more
                if self._gone.is_set():  # what it asked for last is of no use any more
                    break
                self._say(self._carry_out(request))

    def _interrupt(self, *_: object) -> None:
        """Handle a signal that ends the agent: raise KeyboardInterrupt in the main thread, once."""
        if not self._interrupted and not self._ending.is_set():
            self._interrupted = True
            raise KeyboardInterrupt

    def _swallowed(self, what: sys.UnraisableHookArgs) -> None:
        """Let the next signal interrupt the request if Python dropped this exception.

        It does so in callbacks of weak references, as each import has some.
        """
        if issubclass(what.exc_type, KeyboardInterrupt):
            self._interrupted = False
        else:
            sys.__unraisablehook__(what)

    def _carry_out(self, request: AnyRequest) -> Answer:
        """Answer to a request; an error of any kind is an answer too, and the agent goes on."""
        try:
            value = msgspec.msgpack.encode(self._service.answer(request))
            if len(value) > _LONGEST:
                said = (
                    f"{type(request).__name__} is answered by {len(value)} bytes, too many to send"
                )
                return failure(ProgramError(said, remedy="let the program print less"))
        except AferirError as error:
            return failure(error)
        except OSError as error:
            return failure(ProgramError(str(error)))
        except Exception as error:  # noqa: BLE001 - a fault of ours ends no other request
            return failure(_unforeseen(error, type(request).__name__))
        return Answer(value=msgspec.Raw(value))

    def _say(self, answer: Answer) -> None:
        with self._turn:
            frames.write(self._sink, msgspec.msgpack.encode(answer), SILENCE_S)

    def _listen(self) -> None:
        """Thread that queues requests; when the connection ends, it ends the running request."""
        decoder = msgspec.msgpack.Decoder(AnyRequest)
        try:
            while (content := self._reader.message(SILENCE_S)) is not None:
                request = decoder.decode(content)
                if isinstance(request, Alive):
                    self._say(Answer(echo=request.sent_ns, unix_ns=steady.unix_ns()))
                else:
                    self._requests.put(request)
        except Exception as error:  # noqa: BLE001 - this thread tells when the agent is to end
            with contextlib.suppress(OSError):  # nobody may read any more
                print(f"aferir: the controller has gone: {error}", file=sys.stderr)  # noqa: T201
        self._gone.set()
        self._requests.put(None)
        # Again, for a wait that just began does not see the first one, and a callback drops it.
        undone_s = wait.after(_UNDOING_S)
        while self._busy.locked():
            if not wait.left_s(undone_s):
                self._interrupted = False
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            if self._ending.wait(_AGAIN_S):
                break


def main(token: str) -> int:
    """Serve on standard input and output, which are hidden from all programs that run here.

    An error that prevents the agent from starting is reported in place of `ready`.
    """
    sink = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        return _serve(sink, token)
    except AferirError as error:
        said = f"{error.message}{REMEDY}{error.remedy}"
    except Exception as error:  # noqa: BLE001 - the controller tells of it
        said = _unforeseen(error, "start").message
    with contextlib.suppress(OSError):
        os.write(sink, f"\n{AGENT} {token} {' '.join(said.split())}\n".encode())
    return 3


def _serve(sink: int, token: str) -> int:
    for number in _ENDING:
        signal.signal(number, _interrupt)
    if orphans := journal.orphans():
        from aferir import registry

        for problem in registry.clean(orphans):
            print(problem, file=sys.stderr)  # noqa: T201
    with scratch.folder(base=_place()) as folder:
        os.environ |= {PROGRAMS: str(folder / "programs"), PYTHON: sys.executable}
        service = Service(folder)
        os.write(sink, f"\n{AGENT} {token} {READY}\n".encode())
        Agent(sys.stdin.fileno(), sink, service).serve()
    with contextlib.suppress(OSError, frames.Silence):  # the controller may have gone
        frames.write(sink, msgspec.msgpack.encode(Answer(ended=True)), SILENCE_S)
    return 0


def _unforeseen(error: Exception, act: str) -> ProgramError:
    """Describe an unexpected exception as an error that says where it was raised."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "?"
    if place is not None:
        where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
    said = f"{act} failed with {type(error).__name__} at {where}: {error}"
    return ProgramError(said, remedy="report this fault of aferir; the agent goes on")


def _place() -> Path | None:
    """Folder into which the agent was copied, if writable; programs can be executed there.

    /tmp may be mounted noexec.
    """
    place = Path(aferir.__file__).parents[2]
    return place if os.access(place, os.W_OK) else None


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
