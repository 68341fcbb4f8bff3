"""The loop of an agent that serves over pipes."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator

import msgspec
import pytest

from aferir.hosts import agent, frames
from aferir.hosts.agent import Agent
from aferir.hosts.messages import Alive, Answer, AnyRequest, Clean, Describe, Identify, Release
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
    before = {number: signal.getsignal(number) for number in agent._ENDING}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


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


class Faulty(Service):
    """Fails in ways that nobody foresaw."""

    def __init__(self) -> None:
        self.released = 0

    def answer(self, request: AnyRequest) -> object:
        match request:
            case Clean():
                return [1, 2][len("three")]
            case Describe():
                return object()  # which cannot be sent
            case Identify():
                return bytes(1000)
        return None

    def release_all(self) -> None:
        self.released += 1


def test_a_fault_of_one_request_is_its_answer_and_the_next_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent, "_LONGEST", 999)
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Faulty()
    told: list[Answer] = []

    def talk() -> None:
        reader = frames.Reader(answers)
        try:
            for request in (Clean(), Describe(), Identify(), Release(1)):
                frames.write(theirs, msgspec.msgpack.encode(request))
                content = reader.message(60.0)
                assert content is not None
                told.append(msgspec.msgpack.decode(content, type=Answer))
        finally:
            os.close(theirs)

    talking = threading.Thread(target=talk)
    talking.start()
    Agent(source, sink, service).serve()
    talking.join()
    assert [one.error for one in told] == ["ProgramError"] * 3 + [""]
    assert "Clean failed with IndexError at test_agent.py:" in told[0].message
    assert "Describe failed with TypeError" in told[1].message
    assert "Identify is answered by 1003 bytes" in told[2].message
    assert service.released == 1
    for descriptor in (source, answers, sink):
        os.close(descriptor)


def test_what_is_no_message_ends_the_agent_and_releases_everything() -> None:
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Faulty()
    frames.write(theirs, b"\xc1")  # which MessagePack never uses
    Agent(source, sink, service).serve()
    assert service.released == 1
    for descriptor in (source, theirs, answers, sink):
        os.close(descriptor)


class Undoing(Service):
    """Undoes what a request has begun where that is interrupted, and is sent signals meanwhile."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.steps: list[str] = []

    def answer(self, request: AnyRequest) -> object:
        try:
            self.begun.set()
            threading.Event().wait()
        except KeyboardInterrupt:
            self._step("undone")
            raise
        return None

    def release_all(self) -> None:
        self._step("released")

    def _step(self, name: str) -> None:
        for number in agent._ENDING:
            signal.raise_signal(number)
        self.steps.append(name)


@pytest.mark.parametrize("end", ["line", "signal"])
def test_signals_do_not_interrupt_what_undoes_and_releases(end: str) -> None:
    """As where a batch system ends a job, whose agent hears of it by its line as well."""
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Undoing()
    frames.write(theirs, msgspec.msgpack.encode(Clean()))

    def finish() -> None:
        service.begun.wait()
        if end == "line":
            os.close(theirs)
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    ending = threading.Thread(target=finish)
    ending.start()
    Agent(source, sink, service).serve()
    ending.join()
    assert service.steps == ["undone", "released"]
    for descriptor in (answers, sink, *((theirs,) if end == "signal" else ())):
        os.close(descriptor)


class Ended:
    """An object at whose end a signal comes: Python drops what its handler raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


class Dropping(Undoing):
    """Waits for ever unless a later signal interrupts it."""

    def answer(self, request: AnyRequest) -> object:
        Ended()
        return super().answer(request)


def test_a_signal_that_python_drops_is_followed_by_another() -> None:
    """As in the imports of an agent's first request, whose weak references have callbacks."""
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Dropping()
    frames.write(theirs, msgspec.msgpack.encode(Clean()))

    def finish() -> None:
        service.begun.wait()
        os.close(theirs)

    ending = threading.Thread(target=finish)
    ending.start()
    Agent(source, sink, service).serve()
    ending.join()
    assert service.steps == ["undone", "released"]
    for descriptor in (answers, sink):
        os.close(descriptor)


class Long(Faulty):
    """Gives an answer that no pipe holds."""

    def answer(self, request: AnyRequest) -> object:
        return bytes(2**22)


def test_an_answer_that_nobody_reads_does_not_keep_what_was_made() -> None:
    """As where the cable is cut while a file is fetched."""
    source, theirs = os.pipe()
    answers, sink = os.pipe()
    service = Long()
    frames.write(theirs, msgspec.msgpack.encode(Clean()))

    def hang_up() -> None:
        coming = select.poll()
        coming.register(answers, select.POLLIN)
        coming.poll()
        os.close(theirs)

    hanging = threading.Thread(target=hang_up)
    hanging.start()
    Agent(source, sink, service).serve()
    hanging.join()
    assert service.released == 1
    for descriptor in (source, answers, sink):
        os.close(descriptor)
