"""Sets schedules and CPUs of the services' threads: only what differs, and freed bandwidth first.

A thread is recorded before its first change (see `remembered`), so that it can be restored.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import time
from collections.abc import Iterable, Mapping

import msgspec

from aferir.colocation import admission, attributes, leaving, remembered
from aferir.colocation.attributes import Found
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Schedule, Settings

_SHORT_S = 0.25
"""Longest reservation period in s for which `rescue` checks a thread: with periods up to this, a
thread that is only throttled runs again before it is reported as silent."""


def per_thread(settings: Settings, threads: Mapping[int, int]) -> dict[int, Schedule | None]:
    """Schedule wanted for each thread (tid to pid) of the service; None: its original one."""
    return {tid: settings.threads.get(tid, settings.service) for tid in threads}


def differing(
    now: Mapping[int, Schedule | None], want: Mapping[int, Schedule | None]
) -> list[tuple[int, Schedule | None]]:
    """Threads whose schedule changes, in the order in which the changes must be made.

    Changes that release bandwidth come first, so that another thread can reserve it.
    """
    changed = [(tid, new) for tid, new in want.items() if now.get(tid) != new]

    def growth(item: tuple[int, Schedule | None]) -> float:
        tid, new = item
        old = now.get(tid)
        after, before = ({tid: s} if s else {} for s in (new, old))
        return admission.reserved_cpus(after) - admission.reserved_cpus(before)

    return sorted(changed, key=growth)


class Threads:
    """Controls the threads of services, and knows what was set for each."""

    def __init__(self) -> None:
        self.free_cpus = admission.free_cpus(os.cpu_count() or 1)
        """Number of CPUs that the kernel lets this process reserve altogether."""
        self._found: dict[int, Found] = {}
        self._set: dict[int, Schedule | None] = {}
        self._masks: dict[int, tuple[int, ...]] = {}
        self._away_until_s: dict[int, float] = {}
        """Time (monotonic, in s) before which a thread (tid) must not get a reservation."""

    def change(
        self, wanted: Settings, threads: Mapping[int, int], record: Remembered
    ) -> tuple[Remembered, list[str]]:
        """Set schedules and CPUs of the present `threads` (tid to pid).

        What the kernel refuses falls back to nice -20, or stays unchanged. Returns the record of
        what was found, which is on the disk, and problems, one sentence each.
        """
        changes = differing(self._set, per_thread(wanted, threads))
        record = self._remember([tid for tid, _ in changes], wanted, threads, record)
        problems = self._schedule(changes)
        if masks := self._masks_to_set(wanted, threads):
            record = self._remember([tid for tid, _ in masks], wanted, threads, record)
            problems += self._confine(masks)
        return record, problems

    def schedule_of(self, tid: int) -> Schedule | None:
        """Schedule that was set for a thread; None: it is as it was found."""
        return self._set.get(tid)

    def forget_masks(self) -> None:
        """Set all CPUs again at the next change: the kernel has reset them."""
        self._masks.clear()

    def forget_ended(self, threads: Mapping[int, int]) -> None:
        """Forget threads that are not among these, and restore those that left the service."""
        for tid in self._found.keys() - threads.keys():
            leaving.restore(self._found.pop(tid))  # it may only have left the service
            self._set.pop(tid, None)
            self._masks.pop(tid, None)
            self._away_until_s.pop(tid, None)

    def some_may_soon(self) -> bool:
        """Whether any thread must still wait before its next reservation, but not for ever."""
        now_s = time.monotonic()
        return any(now_s < until_s < math.inf for until_s in self._away_until_s.values())

    def rescue(self, silent: Iterable[int]) -> bool:
        """Move threads out of reservations under which the kernel no longer runs them.

        `silent`: threads that have used no CPU time for longer than they can be throttled. Those
        that are stuck get no other reservation. Returns whether there was one.
        """
        rescued = False
        for tid in silent:
            schedule = self._set.get(tid)
            if not schedule or schedule.policy != "deadline" or schedule.period_s > _SHORT_S:
                continue
            with contextlib.suppress(OSError):
                if leaving.rescue(tid):
                    self._away_until_s[tid] = math.inf
                    self._set[tid] = None
                    rescued = True
        return rescued

    def _schedule(self, changes: Iterable[tuple[int, Schedule | None]]) -> list[str]:
        problems = []
        for tid, schedule in changes:
            found = self._found.get(tid)
            if found is None:
                continue
            try:
                self._set[tid] = self._put(found, schedule)
            except ProcessLookupError:
                continue
            except OSError as error:
                problems.append(f"a thread cannot be scheduled so: {attributes.explain(error)}")
                self._set[tid] = self._fall_back(found)
        return problems

    def _put(self, found: Found, schedule: Schedule | None) -> Schedule | None:
        schedule = self._allowed(found.tid, schedule)
        wanted = attributes.of(schedule) if schedule else attributes.restorable(found.attributes)
        if wanted.policy == attributes.DEADLINE and self._masks.pop(found.tid, ()):
            os.sched_setaffinity(found.tid, found.cpus)
        try:
            if away_s := leaving.put(found.tid, wanted):
                until_s = self._away_until_s.get(found.tid, 0.0)
                self._away_until_s[found.tid] = max(until_s, time.monotonic() + away_s)
            if schedule is None:
                attributes.restore_nice(found.tid, found.attributes)
        except OSError as error:
            if error.errno == errno.EBUSY:  # another program holds reservations: use the rest
                ours = {tid: s for tid, s in self._set.items() if s and tid != found.tid}
                self.free_cpus = admission.free_beside(ours, os.cpu_count() or 1)
            raise
        return schedule

    def _allowed(self, tid: int, schedule: Schedule | None) -> Schedule | None:
        """Return the schedule, or nice -20 if the thread may not have a reservation again yet."""
        now_s, before = time.monotonic(), self._set.get(tid)
        if schedule and schedule.policy == "deadline":
            return admission.REFUSED if now_s < self._away_until_s.get(tid, 0.0) else schedule
        if before and before.policy == "deadline":
            self._away_until_s[tid] = now_s + leaving.away_s(before)
        return schedule

    def _fall_back(self, found: Found) -> Schedule | None:
        """Set nice -20, or the attributes as found if that is refused too; returns what was set."""
        for schedule in (admission.REFUSED, None):
            try:
                return self._put(found, schedule)
            except OSError as error:
                if error.errno == errno.ESRCH:
                    break
        return None

    def _masks_to_set(
        self, wanted: Settings, threads: Mapping[int, int]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """CPUs of threads that change; SCHED_DEADLINE ones need all CPUs (EBUSY)."""
        changes = []
        for tid in threads:
            schedule = self._set.get(tid)
            own = (schedule.cpus if schedule else ()) or wanted.service_cpus
            if schedule and schedule.policy == "deadline":
                own = ()
            if self._masks.get(tid, ()) != own:
                changes.append((tid, own))
        return changes

    def _confine(self, changes: Iterable[tuple[int, tuple[int, ...]]]) -> list[str]:
        problems = []
        for tid, own in changes:
            found = self._found.get(tid)
            if found is None:
                continue
            try:
                os.sched_setaffinity(tid, {*own} & {*found.cpus} or found.cpus)
                self._masks[tid] = own
            except ProcessLookupError:
                continue
            except OSError as error:
                problems.append(f"a thread's CPUs cannot be set: {attributes.explain(error)}")
        return problems

    def _remember(
        self,
        touched: Iterable[int],
        wanted: Settings,
        threads: Mapping[int, int],
        before: Remembered,
    ) -> Remembered:
        """Record threads before their first change, and settings that new threads may inherit."""
        new = {
            found.tid: found
            for tid, pid in _with_first(touched, threads).items()
            if tid not in self._found and (found := attributes.find(pid, tid)) is not None
        }
        more = remembered.with_inheritable(before, wanted)
        if not new and more == before:
            return before
        known = {(found.tid, found.started): found for found in before.threads}
        for tid, found in new.items():
            first = self._found.get(found.pid) or new.get(found.pid)
            own = remembered.inherited(found, before, first) if first else found
            self._found[tid] = known[found.tid, found.started] = own
        living = set(self._found)
        record = msgspec.structs.replace(
            more, threads=tuple(f for f in known.values() if f.tid in living)
        )
        remembered.write(record)
        return record


def _with_first(touched: Iterable[int], threads: Mapping[int, int]) -> dict[int, int]:
    """Add each process's first thread, whose attributes will be those of later threads."""
    changed = {tid: threads[tid] for tid in touched}
    return {pid: pid for pid in changed.values() if pid in threads} | changed
