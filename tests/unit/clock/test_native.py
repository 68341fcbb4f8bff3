"""librvec and librgap from Python, on this machine's counter and over loopback."""

from __future__ import annotations

import itertools
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clock import key as keys
from aferir.errors import ClockError, MissingError, UsageError
from aferir.linux import process
from tests.waiting import eventually

try:
    from aferir.clock import _native, rgap, rvec
except MissingError as error:
    pytest.skip(error.message, allow_module_level=True)

KEY = bytes(range(32))
NO_ANSWER = -5


@pytest.fixture
def server() -> Iterator[rgap.Server]:
    with rgap.Server(KEY, port=0, origin="process") as running:
        yield running


def ask(server: rgap.Server, *, background: bool = False) -> rgap.GlobalClock:
    """Synchronise with the server, again where its thread lost its core for longer than a look."""
    port = server.info().port
    while True:
        try:
            return rgap.GlobalClock.synchronise("127.0.0.1", port, key=KEY, background=background)
        except ClockError as error:
            if error.status != NO_ANSWER:
                raise


def test_every_reading_is_greater_than_the_one_before() -> None:
    readings = [rvec.now_ns() for _ in range(100_000)]
    assert all(a < b for a, b in itertools.pairwise(readings))


def test_readings_increase_in_the_order_of_hand_overs_between_threads() -> None:
    there: queue.SimpleQueue[int] = queue.SimpleQueue()
    back: queue.SimpleQueue[int] = queue.SimpleQueue()

    def answer() -> None:
        while there.get() >= 0:
            back.put(rvec.now_ns())

    thread = threading.Thread(target=answer)
    thread.start()
    last, violations = 0, 0
    for _ in range(5_000):
        asked = rvec.now_ns()
        there.put(asked)
        answered = back.get()
        violations += not last < asked < answered
        last = answered
    there.put(-1)
    thread.join()
    assert violations == 0


def test_a_duration_is_that_of_the_raw_clock_within_the_stated_uncertainty() -> None:
    def both() -> tuple[int, int]:
        """A reading with its bracket's width, of many the narrowest."""
        found = []
        for _ in range(200):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            reading = rvec.now_ns()
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            found.append((after - before, reading - (before + after) // 2))
        return min(found)

    width, start = both()
    began = rvec.now_ns()
    uncertainty = rvec.info().uncertainty_ppb
    time.sleep(0.2)
    width_then, end = both()
    allowed = (rvec.now_ns() - began) * uncertainty * 1e-9 + width + width_then
    assert abs(end - start) <= allowed


def test_info_says_what_the_clock_rests_on() -> None:
    info = rvec.info(check_cores=True)
    assert info.counter
    assert 1e6 < info.frequency_hz < 1e11
    assert 0 <= info.uncertainty_ppb < 1e6
    assert info.invariance in ("none", "claimed", "trusted")
    if info.invariance != "none":
        assert len(info.offsets) == info.cores_checked >= 1
    with pytest.raises(AttributeError):
        info.cores = 3  # type: ignore[misc]


@given(st.integers(0, 2**62))
def test_ticks_and_nanoseconds_convert_back_and_forth(ns: int) -> None:
    ticks = rvec.ns_to_ticks(ns)
    assert abs(rvec.ticks_to_ns(ticks) - ns) <= 2 + ns // 10**15


def test_elapsed_ticks_are_right_over_a_wrap_and_are_a_duration() -> None:
    assert rvec.elapsed_ns(2**64 - 500, 500) == rvec.ticks_to_ns(1000)
    before, start, began = rvec.now_ns(), rvec.ticks(), rvec.now_ns()
    time.sleep(0.01)
    ended, end, after = rvec.now_ns(), rvec.ticks(), rvec.now_ns()
    rounded = 1_000
    assert ended - began - rounded <= rvec.elapsed_ns(start, end) <= after - before + rounded
    rvec.refine()


def test_every_name_of_the_stub_is_there() -> None:
    stub = Path(rvec.__file__).with_name("_native.pyi").read_text(encoding="utf-8")
    names = [
        line.split()[1].split("(")[0].rstrip(":")
        for line in stub.splitlines()
        if line.startswith(("def ", "class "))
    ]
    assert len(names) > 8
    assert [name for name in names if not hasattr(_native, name)] == []


def test_without_the_compiled_half_the_remedy_is_said() -> None:
    hidden = (
        "import sys; sys.modules['aferir.clock._native'] = None\n"
        "from aferir.errors import MissingError\n"
        "try:\n    import aferir.clock.rvec\n"
        "except MissingError as error:\n    print(error.remedy)"
    )
    done = process.run([sys.executable, "-c", hidden])
    assert "python3-dev" in done.stdout


def test_global_time_is_the_servers_within_its_bound(server: rgap.Server) -> None:
    clock = ask(server)
    for _ in range(1000):
        before = rvec.now_ns()
        at, bound = clock.now()
        after = rvec.now_ns()
        assert before - bound <= at <= after + bound
    info = clock.info()
    assert (info.looks, info.level, info.last_status) == (1, 1, 0)
    assert clock.at(10**12)[0] - 10**12 == pytest.approx(info.offset_ns, abs=2)


def test_the_second_look_comes_by_itself_and_tightens_the_bound(server: rgap.Server) -> None:
    assert ask(server).info().rate_doubt_ppm > 100
    clock = ask(server, background=True)
    eventually(lambda: clock.info().looks >= 2)
    info = clock.info()
    assert abs(info.rate_ppm) < info.rate_doubt_ppm + 0.25


def test_polling_too_early_is_no_look_and_look_is_one(server: rgap.Server) -> None:
    """Where this thread is kept from its processor for a second, the second look is due."""

    def too_early() -> bool:
        clock = ask(server)
        answered = server.info().answered
        clock.poll()
        return server.info().answered == answered

    assert any(too_early() for _ in range(5))
    clock = ask(server)
    answered = server.info().answered
    clock.look()
    assert server.info().answered > answered


def test_a_node_serves_the_next_level(server: rgap.Server) -> None:
    clock = ask(server)
    with rgap.Server(KEY, port=0, upstream=clock) as second:
        del clock  # kept by the server
        below = ask(second)
        assert below.info().level == 2
        assert below.info().timeline == server.info().timeline
        before = rvec.now_ns()
        at, bound = below.now()
        assert before - bound <= at <= rvec.now_ns() + bound


def test_unix_time_is_served_unless_told_otherwise() -> None:
    with rgap.Server(KEY, port=0) as unix:
        clock = ask(unix)
        before = time.time_ns()
        at, bound = clock.now()
        assert before - bound - 10**8 < at < time.time_ns() + bound + 10**8


def test_a_wrong_key_gets_no_answer_and_is_counted(server: rgap.Server) -> None:
    port = server.info().port
    with pytest.raises(ClockError, match="no server with this key") as caught:
        rgap.GlobalClock.synchronise("127.0.0.1", port, key=bytes(32), deadline_s=0.2)
    assert "this very key" in caught.value.remedy
    assert caught.value.status == NO_ANSWER
    eventually(lambda: server.info().foreign > 0)
    info = server.info()  # some requests may still be on their way
    assert info.dropped >= info.foreign


def refusals(port: int) -> dict[str, Callable[[], object]]:
    return {
        "cannot be resolved": lambda: rgap.GlobalClock.synchronise("no.such.host.invalid", key=KEY),
        "argument": lambda: rgap.GlobalClock.synchronise("127.0.0.1", port, key=b"short"),
        "in use": lambda: rgap.Server(KEY, port=port),
        "ssign": lambda: rgap.Server(KEY, address="192.0.2.1", port=0),
    }


def test_errors_say_what_is_wrong_and_what_to_do(server: rgap.Server) -> None:
    for words, attempt in refusals(server.info().port).items():
        with pytest.raises(ClockError, match=words) as caught:
            attempt()
        assert caught.value.remedy


def test_waiting_for_a_server_lets_other_threads_run() -> None:
    """Another thread gets several turns during one wait; between two waits it gets one at most."""
    over, waits, turns = threading.Event(), list[int](), Counter[int]()

    def wait() -> None:
        while not over.is_set():
            waits.append(1)
            with pytest.raises(ClockError):
                rgap.GlobalClock.synchronise("127.0.0.1", 9, key=KEY, deadline_s=1.0)

    def several() -> bool:
        turns[len(waits)] += 1
        return turns[len(waits)] > 3

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        eventually(several)
    finally:
        over.set()
        thread.join()


def test_a_stopped_server_answers_no_more_and_says_so(server: rgap.Server) -> None:
    clock = ask(server)
    server.stop()
    server.stop()
    with pytest.raises(ValueError, match="stopped"):
        server.info()
    assert clock.now()[1] > 0  # the clock goes on


def test_a_key_file_is_private_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    made = keys.create_key(path)
    assert len(made) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.read_key(path) == made
    with pytest.raises(UsageError, match="cannot be made"):
        keys.create_key(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match="open to others") as caught:
        keys.read_key(path)
    assert caught.value.remedy == f"chmod 600 {path}"


@pytest.mark.parametrize("text", ["", "00" * 15, "no digits", "é" * 64])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="holds no key"):
        keys.read_key(path)
    with pytest.raises(UsageError, match="cannot be read"):
        keys.read_key(tmp_path / "none")
