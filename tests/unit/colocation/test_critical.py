"""Critical threads, and the CPU use of threads, from texts of the kernel."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aferir.colocation import critical, jvm, service, usage
from aferir.colocation.answers import Answers
from aferir.colocation.critical import Matcher, Selector
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.settings import Sla, ThreadUse
from aferir.colocation.usage import Seen
from aferir.errors import MissingError, UsageError
from aferir.linux import process

_DUMP = """\
2026-01-01 10:00:00
Full thread dump OpenJDK 64-Bit Server VM (17.0.9+9-Debian mixed mode):

"elasticsearch[n][search][T#1]" #42 daemon prio=5 os_prio=0 cpu=7.15ms tid=0x7f nid=0x1a2b waiting
   java.lang.Thread.State: WAITING (parking)
"GC Thread#0" os_prio=0 cpu=5.49ms elapsed=1.20s tid=0x00007f1 nid=0x10 runnable
"a \\"quoted\\" one" #43 [8123] daemon prio=5 tid=0x00007f nid=8123 waiting on condition  [0x0]
"""


def test_full_names_are_read_of_both_forms_of_thread_numbers() -> None:
    assert jvm.parse_dump(_DUMP) == {
        0x1A2B: "elasticsearch[n][search][T#1]",
        16: "GC Thread#0",
        8123: 'a \\"quoted\\" one',
    }


@given(st.text(max_size=80) | st.from_regex(r'"[a-z ]*" #1 nid=(0x)?[0-9a-f]{0,25} x'))
@example('"one" nid=007 waiting')
@example(f'"one" nid={"9" * 5000} waiting')
def test_any_dump_of_a_jvm_gives_names_of_threads_or_none(dump: str) -> None:
    assert all(tid >= 0 for tid in jvm.parse_dump(dump))


def test_threads_are_chosen_by_either_name() -> None:
    names = {1: "elasticsearch[n", 2: "elasticsearch[n", 3: "nginx"}
    java = {1: "elasticsearch[n][search][T#1]", 2: "elasticsearch[n][write][T#1]"}
    assert Matcher(Selector(java=(r"\[search\]",))).chosen(names, java) == {1}
    assert Matcher(Selector(names=("^nginx",))).chosen(names, java) == {3}
    assert Matcher(Selector(all=True)).chosen(names, java) == {1, 2, 3}


def test_a_bad_expression_is_refused_with_its_text() -> None:
    with pytest.raises(UsageError, match=r"\(search"):
        Matcher(Selector(names=("(search",)))


def test_pools_that_follow_the_rate_are_learnt_and_others_are_not() -> None:
    rng = random.Random(3)  # noqa: S311 - not cryptography
    rates = [rng.uniform(10, 100) for _ in range(40)]
    names = {1: "worker-1", 2: "worker-2", 3: "compiler", 4: "poller", 5: "idle"}
    used = {
        1: [0.004 * r * rng.uniform(0.2, 1.8) for r in rates],
        2: [0.004 * r * rng.uniform(0.2, 1.8) for r in rates],
        3: [rng.uniform(0, 0.5) for _ in rates],
        4: [0.1 for _ in rates],
        5: [1e-6 * r for r in rates],
    }
    assert critical.learn(names, used, rates) == {1, 2}


def test_nothing_is_learnt_from_a_steady_rate_or_few_looks() -> None:
    steady = [50.0] * 40
    used = {1: [0.2 + 0.001 * k for k in range(40)]}
    assert critical.learn({1: "w"}, used, steady) == frozenset()
    assert critical.learn({1: "w"}, {1: [0.1, 0.2]}, [1.0, 2.0]) == frozenset()


def test_until_something_is_learnt_busy_pools_are_critical_however_many_share_the_work() -> None:
    names = {k: f"worker-{k}" for k in range(40)} | {40: "main", 41: "poller"}
    used = {k: [0.01] for k in range(40)} | {40: [0.05], 41: [0.001]}
    assert critical.busiest(names, used) == set(range(41))
    assert critical.busiest({1: "main"}, {1: [0.0]}) == frozenset()


class _Sensor:
    helpers = ()

    def __init__(self, counts: list[int]) -> None:
        self._counts = counts

    def look(self) -> Look:
        return Look(latencies=Histogram([0.01] * self._counts.pop(0)))

    def close(self) -> None:
        pass


def test_the_fullest_pool_is_told_by_its_threads_that_run_or_wait() -> None:
    def threads(*of: tuple[str, float, float]) -> list[ThreadUse]:
        return [
            ThreadUse(tid=tid, name=name, cpus=cpus, waited_cpus=waited)
            for tid, (name, cpus, waited) in enumerate(of)
        ]

    searching = [("search-1", 0.3, 0.5), ("search-2", 0.2, 0.2)]
    assert critical.occupied(threads(*searching)) == pytest.approx(0.6)
    assert critical.occupied(threads(*searching, ("http", 0.1, 0.1))) == pytest.approx(0.6)
    assert critical.occupied(threads(*searching, ("http", 0.1, 0.8))) == pytest.approx(0.9)
    master = ("search-0", 0.0, 0.001)
    assert critical.occupied(threads(*searching, master)) == pytest.approx(0.6)
    long_wait = ("search-3", 0.1, 3.0)  # told when it has ended
    assert critical.occupied(threads(*searching, long_wait)) == pytest.approx(2.2 / 3)
    assert critical.occupied([]) == 0.0


def test_the_rate_is_of_the_last_two_seconds_and_none_comes_of_the_start() -> None:
    answers = Answers(_Sensor([1000] + [10] * 40), Sla(), 100.0)
    for tick in range(1, 41):
        answers.look(100.0 + 0.1 * tick)
        assert answers.rate < 101
    assert answers.rate == pytest.approx(100, rel=0.02)
    assert answers.latency is not None
    assert answers.silent_s(105.0) == pytest.approx(1.0)


def test_a_99th_percentile_of_few_answers_is_late_for_certain_once_some_of_them_are() -> None:
    answers = Answers(_Sensor([0] + [10] * 60), Sla(0.99, 0.005), 100.0)
    for tick in range(1, 61):
        answers.look(100.0 + 0.1 * tick)
        assert answers.latency is not None
        assert answers.latency.low_s > 0.005
        assert (answers.latency.high_s < math.inf) == (answers.latency.n >= 368)
    assert answers.latency is not None
    assert answers.latency.n >= 515


@pytest.mark.parametrize("text", ["", "pid:x", "pid:", "nothing:1", "nginx"])
def test_a_service_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a service"):
        service.parse_spec(text)


def test_a_service_that_does_not_run_is_missing() -> None:
    with pytest.raises(MissingError, match="no such process"):
        service.check(service.parse_spec("pid:4194305"))


def test_use_is_a_difference_per_second_and_never_negative() -> None:
    before = Seen(
        time_s=1.0,
        threads={1: (1.0, 2.0)},
        service_s={7: 3.0},
        steal_s=5.0,
        others_reserved_s={9: 1.0, 10: 1.0},
    )
    after = Seen(
        time_s=3.0,
        threads={1: (2.0, 2.5), 2: (9.0, 9.0)},
        service_s={7: 4.0, 8: 100.0},
        steal_s=4.0,
        throttled_s=9.0,
        others_reserved_s={9: 1.5, 11: 50.0},
    )
    use = usage.between(before, after)
    assert use.threads == {1: (0.5, 0.25), 2: (0.0, 0.0)}
    assert sum(use.processes.values()) == 0.5
    assert use.steal_cpus == 0.0
    assert use.others_reserved_cpus == 0.25
    assert use.batch_throttled == 1.0


def test_a_clock_that_stood_still_gives_no_use() -> None:
    seen = Seen(time_s=1.0, batch_s=2.0)
    assert usage.between(seen, seen).batch_cpus == 0.0


def test_texts_of_the_kernel_are_read_in_seconds() -> None:
    assert usage.parse_schedstat("1500000000 250000000 77\n") == (1.5, 0.25)
    assert usage.parse_pressure("some avg10=1.00 avg60=0.1 avg300=0 total=2500000\nfull x") == 2.5
    assert usage.parse_throttled("nr_periods 2\nthrottled_time 3000000000\n") == 3.0
    assert usage.parse_throttled("usage_usec 9\nthrottled_usec 3000000\n") == 3.0
    assert usage.parse_usage("4000000000\n") == 4.0
    assert usage.parse_usage("usage_usec 4000000\nuser_usec 1\n") == 4.0
    assert usage.parse_usage("") == 0.0


def test_memory_of_whoever_started_a_program_is_not_counted_as_its_own() -> None:
    large = bytearray(b"x") * 100_000_000
    program = "import time; print('ready', flush=True); time.sleep(60)"
    child = process.start([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        own, ours = usage.most_resident_bytes(child.pid), usage.most_resident_bytes(os.getpid())
    finally:
        process.end(child, grace_s=0.1)
    assert 1e6 < own < len(large) < ours
    assert usage.most_resident_bytes(child.pid) == 0
