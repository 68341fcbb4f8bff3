"""Latency by asking: a request at each of many intended moments, whatever became of others.

A request counts from the moment at which it was to be sent. Asking again only after an answer
would leave out the moments in which the service is slow (coordinated omission).
"""

from __future__ import annotations

import random
import selectors
import socket
import threading
import time

import msgspec

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.web import question, resolve

_MOST_OPEN = 256
_GOOD = range(200, 400)


class _Asked(msgspec.Struct):
    """One request under way."""

    connection: socket.socket
    intended: float
    answer: bytes = b""
    sent: bool = False


class Probe:
    """Asks `url` `rate` times a second on average, at exponential distances.

    Equal distances would fall into step with the periods of a scheduler. A request that fails
    (refused, broken off, status of 400 or above) or takes longer than `patience_s` is counted as
    failed, and as a latency of at least `patience_s`: a quick refusal is no quick answer.
    Errors: UsageError for a URL that is none, or a host that is not known.
    """

    def __init__(
        self, url: str, *, rate: float = 20.0, patience_s: float = 1.0, seed: int | None = None
    ) -> None:
        self._url = url
        self._question = question(url)
        self._family, self._where = resolve(self._question.address)
        self._rate = rate
        self._patience_s = patience_s
        self._random = random.Random(seed)  # noqa: S311 - moments, not secrets
        self._lock = threading.Lock()
        self._latencies = Histogram()
        self._failed = 0
        self._problem = ""
        self._selector = selectors.DefaultSelector()
        self._asked: dict[int, _Asked] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def look(self) -> Look:
        """See `Sensor`; a failed request is among the latencies too."""
        with self._lock:
            latencies, self._latencies = self._latencies, Histogram()
            failed, self._failed = self._failed, 0
            problem = f"{self._url}: {self._problem}" if self._problem else ""
            return Look(latencies=latencies, failed=failed, problem=problem)

    def close(self) -> None:
        """See `Sensor`."""
        self._ends.set()
        self._thread.join(5.0)

    def _ask_on(self) -> None:
        due = time.monotonic()
        while not self._ends.is_set():
            now = time.monotonic()
            while due <= now:
                self._ask(due)
                due += self._random.expovariate(self._rate)
            self._give_up(now)
            wait = min(due - time.monotonic(), 0.05)
            for key, events in self._selector.select(max(wait, 0.0)):
                self._attend(self._asked[key.fd], events)

    def _run(self) -> None:
        with attributes.going_first():
            self._ask_on()
        for asked in list(self._asked.values()):
            self._drop(asked)
        self._selector.close()

    def _ask(self, intended: float) -> None:
        if len(self._asked) >= _MOST_OPEN:
            self._book(intended, "too many requests without an answer")
            return
        try:
            connection = socket.socket(self._family, socket.SOCK_STREAM)
        except OSError as error:
            self._book(intended, error.strerror or str(error))
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect_ex(self._where)  # a refusal is told by the first use
        self._asked[connection.fileno()] = _Asked(connection, intended)
        self._selector.register(connection, selectors.EVENT_WRITE)

    def _attend(self, asked: _Asked, events: int) -> None:
        try:
            if not asked.sent and events & selectors.EVENT_WRITE:
                # So short a request fits any fresh socket's buffer as a whole.
                asked.connection.send(self._question.request)
                asked.sent = True
                self._selector.modify(asked.connection, selectors.EVENT_READ)
                return
            read = asked.connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(asked, error.strerror or str(error))
            return
        if read:
            asked.answer = (asked.answer + read)[:64]
            return
        status = self._question.status(asked.answer)
        good = status is not None and status in _GOOD
        self._end(asked, "" if good else f"status {status}" if status else "broken off")

    def _give_up(self, now: float) -> None:
        for asked in list(self._asked.values()):
            if now - asked.intended >= self._patience_s:
                self._end(asked, f"no answer within {self._patience_s:g} s")

    def _end(self, asked: _Asked, problem: str) -> None:
        self._drop(asked)
        self._book(asked.intended, problem)

    def _drop(self, asked: _Asked) -> None:
        del self._asked[asked.connection.fileno()]
        self._selector.unregister(asked.connection)
        asked.connection.close()

    def _book(self, intended: float, problem: str) -> None:
        latency_s = time.monotonic() - intended
        with self._lock:
            self._problem = problem
            if problem:
                self._failed += 1
                latency_s = max(latency_s, self._patience_s)
            self._latencies.add(latency_s)
