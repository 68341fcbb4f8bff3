"""What serves at the other end of a line: `python -m aferir.hosts.agent TOKEN`.

Requests are carried out one after another. Where the controller has gone, because the line has
ended or nothing has come over it for a while, what runs is ended and everything is given back.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from aferir import machine, registry
from aferir.errors import AferirError, ProgramError
from aferir.hosts import frames
from aferir.hosts.bootstrap import AGENT
from aferir.hosts.messages import Alive, Answer, AnyRequest, failure
from aferir.hosts.requests import Service
from aferir.linux import journal

SILENCE_S = 8.0
"""Without a word from the controller for so long, it is taken to have gone."""
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""A shell has what it starts in the background ignore SIGINT, and Python leaves that so."""


class Agent:
    """The loop between a line and what carries requests out."""

    def __init__(self, source: int, sink: int, service: Service) -> None:
        self._reader = frames.Reader(source)
        self._sink = sink
        self._service = service
        self._requests: queue.SimpleQueue[AnyRequest | None] = queue.SimpleQueue()
        self._busy = threading.Lock()

    def serve(self) -> None:
        """Carry out requests until the controller has gone; then give everything back."""
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while (request := self._requests.get()) is not None:
                with self._busy:
                    answer = self._carry_out(request)
                frames.write(self._sink, msgspec.msgpack.encode(answer))
        except (KeyboardInterrupt, OSError):
            pass  # the controller has gone, or somebody ends us
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._service.release_all()

    def _carry_out(self, request: AnyRequest) -> Answer:
        try:
            value = self._service.answer(request)
        except AferirError as error:
            return failure(error)
        except OSError as error:
            return failure(ProgramError(str(error)))
        return Answer(value=msgspec.Raw(msgspec.msgpack.encode(value)))

    def _listen(self) -> None:
        """Hand on what comes; where nothing does any more, end what runs."""
        decoder = msgspec.msgpack.Decoder(AnyRequest)
        try:
            while (content := self._reader.message(SILENCE_S)) is not None:
                request = decoder.decode(content)
                if not isinstance(request, Alive):
                    self._requests.put(request)
        except (frames.Silence, ProgramError, msgspec.DecodeError, OSError) as error:
            with contextlib.suppress(OSError):  # nobody may read any more
                print(f"aferir: the controller has gone: {error}", file=sys.stderr)  # noqa: T201
        self._requests.put(None)
        if self._busy.locked():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def main(token: str) -> int:
    """Serve on standard input and output, which no program of ours gets to see."""
    sink = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for number in _ENDING:
        signal.signal(number, _interrupt)
    for problem in registry.clean(journal.orphans()):
        print(problem, file=sys.stderr)  # noqa: T201
    with tempfile.TemporaryDirectory(prefix="aferir-agent-") as folder:
        service = Service(Path(folder), registry.kinds(), registry.context(), machine.describe)
        os.write(sink, f"\n{AGENT} {token} ready\n".encode())
        Agent(sys.stdin.fileno(), sink, service).serve()
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
