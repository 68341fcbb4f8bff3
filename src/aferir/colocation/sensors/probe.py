"""Latency by asking: a request at each of many intended moments, whatever became of others.

A request counts from the moment at which it was to be sent. Asking again only after an answer
would leave out the moments in which the service is slow (coordinated omission).

The controller is to be a hundredth of a processor, so a request costs two awakenings: one to send
it, one when its answer is there as a whole.
"""

from __future__ import annotations

import os
import random
import select
import socket
import threading
import time

import msgspec

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.web import question, resolve

_MOST_OPEN = 256
_WHOLE_BYTES = 1 << 18
"""Of an answer that wake us before its end; short of that its end does (SO_RCVLOWAT, socket(7))."""
_READ_BYTES, _MOST_READS = 1 << 16, 16
_GOOD = range(200, 400)


class _Asked(msgspec.Struct):
    """One request under way."""

    connection: socket.socket
    intended: float
    answer: bytes = b""


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
        self._epoll = select.epoll()
        self._asked: dict[int, _Asked] = {}
        """By their sockets, the oldest first."""
        self._ends = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._ends, select.EPOLLIN)
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
        if self._thread.is_alive():
            os.eventfd_write(self._ends, 1)
            self._thread.join(5.0)

    def _ask_on(self) -> None:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            while due <= now:
                self._ask(due)
                due += self._random.expovariate(self._rate)
            self._give_up(now)
            for number, events in self._events(due):
                if number == self._ends:
                    return
                self._attend(self._asked[number], events)

    def _events(self, due: float) -> list[tuple[int, int]]:
        """What has happened when a request is due, or to be given up, or earlier.

        epoll_wait(2) itself waits for whole milliseconds, which services answer in.
        """
        oldest = next(iter(self._asked.values()), None)
        until = min(due, oldest.intended + self._patience_s) if oldest else due
        ready, _, _ = select.select([self._epoll], [], [], max(until - time.monotonic(), 0.0))
        return self._epoll.poll(0) if ready else []

    def _run(self) -> None:
        try:
            with attributes.going_first():
                self._ask_on()
        finally:
            for asked in list(self._asked.values()):
                self._drop(asked)
            self._epoll.close()
            os.close(self._ends)

    def _ask(self, intended: float) -> None:
        if len(self._asked) >= _MOST_OPEN:
            self._book(intended, "too many requests without an answer")
            return
        try:
            connection = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            self._book(intended, error.strerror or str(error))
            return
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _WHOLE_BYTES)
        connection.connect_ex(self._where)  # a refusal is told by the first use
        asked = self._asked[connection.fileno()] = _Asked(connection, intended)
        self._epoll.register(connection, select.EPOLLOUT)
        self._send(asked)  # on one host it is connected by now

    def _send(self, asked: _Asked) -> None:
        try:
            # So short a request fits any fresh socket's buffer as a whole.
            asked.connection.send(self._question.request)
            self._epoll.modify(asked.connection, select.EPOLLIN)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(asked, error.strerror or str(error))

    def _attend(self, asked: _Asked, events: int) -> None:
        if events & select.EPOLLOUT:
            self._send(asked)
            return
        try:
            for _ in range(_MOST_READS):
                read = asked.connection.recv(_READ_BYTES)
                if not read:
                    break
                asked.answer = (asked.answer + read)[:64]
            else:
                return
        except BlockingIOError:
            return
        except OSError as error:
            self._end(asked, error.strerror or str(error))
            return
        status = self._question.status(asked.answer)
        good = status is not None and status in _GOOD
        self._end(asked, "" if good else f"status {status}" if status else "broken off")

    def _give_up(self, now: float) -> None:
        while (asked := next(iter(self._asked.values()), None)) is not None:
            if now - asked.intended < self._patience_s:
                return
            self._end(asked, f"no answer within {self._patience_s:g} s")

    def _end(self, asked: _Asked, problem: str) -> None:
        self._drop(asked)
        self._book(asked.intended, problem)

    def _drop(self, asked: _Asked) -> None:
        del self._asked[asked.connection.fileno()]
        asked.connection.close()  # which takes it out of the epoll

    def _book(self, intended: float, problem: str) -> None:
        latency_s = time.monotonic() - intended
        with self._lock:
            self._problem = problem
            if problem:
                self._failed += 1
                latency_s = max(latency_s, self._patience_s)
            self._latencies.add(latency_s)
