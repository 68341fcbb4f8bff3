"""The loop of an agent, between pipes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import msgspec
import pytest

from aferir.hosts import frames
from aferir.hosts.agent import Agent
from aferir.hosts.messages import Alive, Answer, AnyRequest, Clean
from aferir.hosts.requests import Service


class Slow(Service):
    """Carries each request out when it is let, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[AnyRequest] = []
        self.released = 0
        self.go_on = threading.Event()

    def answer(self, request: AnyRequest) -> object:
        self.asked.append(request)
        self.go_on.wait()
        return None

    def release_all(self) -> None:
        self.released += 1


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    """An agent that ends is not to be interrupted any more; we are."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("requests", [1, 2, 50])
def test_what_a_controller_asked_for_before_it_went_is_not_begun(requests: int) -> None:
    """However the end of the line and the requests before it fall together; one may have begun."""
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Slow()
    for _ in range(requests):
        frames.write(theirs, msgspec.msgpack.encode(Clean()))
    os.close(theirs)
    Agent(source, sink, service).serve()
    assert service.released == 1
    assert len(service.asked) <= 1
    for descriptor in (source, answers, sink):
        os.close(descriptor)


def test_signs_of_life_are_answered_while_something_runs() -> None:
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Slow()
    told: list[Answer] = []

    def talk() -> None:
        reader = frames.Reader(answers)
        frames.write(theirs, msgspec.msgpack.encode(Clean()))
        frames.write(theirs, msgspec.msgpack.encode(Alive(7)))
        for _ in range(2):
            content = reader.message(60.0)
            assert content is not None
            told.append(msgspec.msgpack.decode(content, type=Answer))
            service.go_on.set()
        os.close(theirs)

    talking = threading.Thread(target=talk)
    talking.start()
    Agent(source, sink, service).serve()
    talking.join()
    assert [one.echo for one in told] == [7, 0]
    for descriptor in (source, answers, sink):
        os.close(descriptor)
