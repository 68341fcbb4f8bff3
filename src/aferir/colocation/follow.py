"""Tracks a service's threads, and which of them are critical, in every control period."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping

from aferir.colocation import attributes, critical, jvm
from aferir.colocation.critical import Matcher, Selector
from aferir.colocation.service import ServiceSpec
from aferir.colocation.service_threads import Service
from aferir.colocation.usage import Seen, Usage, between

_ASK_SHARE = 0.02
"""Largest share of time spent on thread dumps, during which a JVM pauses its threads."""
_SAMPLE_S = 1.0
_SAMPLES = 120
_JUDGE_S = 5.0


class Follower:
    """The threads of a service, and the critical ones according to a selector."""

    def __init__(self, spec: ServiceSpec, selector: Selector) -> None:
        """Raise UsageError if the selector contains an invalid regular expression."""
        self._matcher = Matcher(selector)
        self._selector = selector
        self._service = Service(spec)
        self._java = _JavaNames()
        self._learner = _Learner()
        self._matched: tuple[Mapping[int, str], Mapping[int, str]] = ({}, {})
        self.threads: dict[int, int] = {}
        """Thread ID to process ID, for every thread."""
        self.critical: frozenset[int] = frozenset()

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes of the service."""
        return self._service.pids

    def name(self, tid: int) -> str:
        """Java's full name of a thread if it is known, else the kernel's truncated name."""
        return self._java.names.get(tid) or self._service.names.get(tid, "")

    def look(self, time_s: float, rate: float) -> None:
        """Update threads and critical threads at `time_s` (seconds on a monotonic clock).

        `rate`: recent requests per second, with which CPU use is correlated if critical threads are
        learnt.
        """
        self.threads = self._service.look(time_s)
        names = self._service.names
        if self._selector.java:
            self._java.follow(self.threads, time_s)
        if self._selector.learns:
            self.critical = self._learner.look(time_s, rate, self.threads, names)
        elif names is not self._matched[0] or self._java.names is not self._matched[1]:
            self._matched = (names, self._java.names)
            self.critical = self._matcher.chosen(*self._matched)

    def close(self) -> None:
        """Close files."""
        self._service.close()
        self._learner.close()


class _JavaNames:
    """Requests Java's thread names in a thread of its own, whenever some are still unknown."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._seen: frozenset[int] = frozenset()
        self._asking: threading.Thread | None = None
        self._not_before_s = 0.0

    def follow(self, threads: Mapping[int, int], time_s: float) -> None:
        """Request the names if there are new threads, unless that would exceed `_ASK_SHARE`."""
        busy = self._asking is not None and self._asking.is_alive()
        now = frozenset(threads)
        if busy or now <= self._seen or time_s < self._not_before_s:
            return
        self._seen = now
        pids = tuple(sorted(set(threads.values())))
        self._asking = threading.Thread(target=self._ask, args=(pids, time_s), daemon=True)
        self._asking.start()

    def _ask(self, pids: tuple[int, ...], time_s: float) -> None:
        started = time.monotonic()
        names: dict[int, str] = {}
        # A thread that holds the interpreter's lock while it gets no CPU blocks the controller.
        with attributes.going_first():
            for pid in pids:
                names.update(jvm.thread_names(pid))
        self.names = names
        self._not_before_s = time_s + (time.monotonic() - started) / _ASK_SHARE


class _Learner:
    """Samples the CPU use of every thread once a second, and judges every five seconds."""

    def __init__(self) -> None:
        self._usage = Usage(None)
        self._before = Seen(time_s=0.0)
        self._samples: deque[tuple[float, dict[int, float]]] = deque(maxlen=_SAMPLES)
        self._critical: frozenset[int] = frozenset()
        self._judged_s = 0.0

    def look(
        self, time_s: float, rate: float, threads: Mapping[int, int], names: Mapping[int, str]
    ) -> frozenset[int]:
        """Critical threads, or the threads that use the most CPU time if nothing is learnt yet."""
        if time_s - self._before.time_s >= _SAMPLE_S:
            seen = self._usage.look(threads, ())
            if self._before.threads:
                used = {tid: run for tid, (run, _) in between(self._before, seen).threads.items()}
                self._samples.append((rate, used))
            self._before = seen
            if time_s - self._judged_s >= _JUDGE_S or not self._critical:
                self._judged_s = time_s
                self._critical = self._judge(threads, names)
        return self._critical & threads.keys()

    def _judge(self, threads: Mapping[int, int], names: Mapping[int, str]) -> frozenset[int]:
        used = {tid: [sample.get(tid, 0.0) for _, sample in self._samples] for tid in threads}
        learnt = critical.learn(names, used, [rate for rate, _ in self._samples])
        return learnt or critical.busiest(names, used)

    def close(self) -> None:
        """Close files."""
        self._usage.close()
