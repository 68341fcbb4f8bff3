"""Applies settings to the machine: changes only what differs, and frees bandwidth first.

Whatever is changed is recorded beforehand (see `remembered`), so that it can be restored.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.colocation import (
    admission,
    attributes,
    batch,
    grouping,
    leaving,
    protecting,
    remembered,
)
from aferir.colocation.attributes import Found
from aferir.colocation.place import Place
from aferir.colocation.settings import Batch, Schedule, Settings
from aferir.errors import MissingError
from aferir.linux.journal import Entry

_LOOK_S = 1.0
_SHORT_S = 0.25
"""Longest reservation period in s for which `rescue` checks a thread: with periods up to this, a
thread that is only throttled runs again before it is reported as silent."""
_SWITCHED_OFF = "somebody has switched off controllers of the batch program's control group"
_RESET = "somebody has reset the batch program's control group; it is set again"


class Applied(msgspec.Struct, frozen=True):
    """Result of applying the settings of one decision."""

    now: Settings
    """Settings now in effect: less than wanted if the kernel refused some, or a thread has
    ended."""
    problems: tuple[str, ...] = ()


def schedules(settings: Settings, threads: Mapping[int, int]) -> dict[int, Schedule | None]:
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


class Machine:
    """Controls the threads of services and the control group of one batch program."""

    def __init__(
        self, entry: Entry, where: Place | None = None, service_groups: Sequence[Path] = ()
    ) -> None:
        """Create the batch program's control group.

        `entry`: its journal entry, which a guard watches. `where`: place beside the service; None:
        at the root. `service_groups`: the services' own groups of version 2. Errors: as
        `grouping.make`.
        """
        self.all_cpus = tuple(sorted(os.sched_getaffinity(0)))
        made = grouping.make(entry, where, self.all_cpus)
        self.group, self._remembered, self._holder = made.group, made.remembered, made.holder
        self._held_by = batch.held_by(self.group)
        self._service_groups = service_groups
        self.now = Settings()
        self.free_cpus = admission.free_cpus(os.cpu_count() or 1)
        """Number of CPUs that the kernel lets this process reserve altogether."""
        self._asked: object = None
        self._looked_s = time.monotonic()
        self._found: dict[int, Found] = {}
        self._schedules: dict[int, Schedule | None] = {}
        self._masks: dict[int, tuple[int, ...]] = {}
        self._away_until_s: dict[int, float] = {}
        """Time (monotonic, in s) before which a thread (tid) must not get a reservation."""

    def apply(self, want: Settings, threads: Mapping[int, int]) -> Applied:
        """Apply settings to the batch and to the service's present `threads` (tid to pid).

        What the kernel refuses stays unchanged or falls back to nice -20, and is reported as a
        problem.
        """
        problems = self._mended()
        asked = (want.unexplained(), threads)
        if asked == self._asked:
            self.now = msgspec.structs.replace(self.now, explanation=want.explanation)
            return Applied(self.now, tuple(problems))
        self._forget_ended(threads)
        critical = {tid: s for tid, s in want.threads.items() if tid in threads}
        admitted = admission.admit(critical, self.free_cpus)
        wanted = msgspec.structs.replace(want, threads=admitted)
        growing = _uses_more(self.now, wanted)
        if not growing:
            problems += self._apply_batch(wanted)
        problems += self._protect(wanted)
        problems += self._apply_threads(wanted, threads)
        problems += self._apply_masks(wanted, threads)
        if growing:  # batch work gets more only after the service has what it needs
            problems += self._apply_batch(wanted)
        as_set = {tid: s for tid in admitted if (s := self._schedules.get(tid)) is not None}
        rest = (self._schedules.get(tid) for tid in threads if tid not in admitted)
        refused = wanted.service is not None and admission.REFUSED in rest
        of_service = admission.REFUSED if refused else wanted.service
        self.now = msgspec.structs.replace(wanted, threads=as_set, service=of_service)
        self._asked = None if problems or self._some_may_soon() else asked
        return Applied(self.now, tuple(dict.fromkeys(problems)))

    def rescue(self, silent: Iterable[int]) -> None:
        """Move threads out of reservations under which the kernel no longer runs them.

        `silent`: threads that have used no CPU time for longer than they can be throttled. Those
        that are stuck get no other reservation.
        """
        for tid in silent:
            schedule = self._schedules.get(tid)
            if not schedule or schedule.policy != "deadline" or schedule.period_s > _SHORT_S:
                continue
            with contextlib.suppress(OSError):
                if leaving.rescue(tid):
                    self._away_until_s[tid] = math.inf
                    self._schedules[tid] = self._asked = None

    def _mended(self) -> list[str]:
        """Reapply settings lost when other programs switched controllers off; returns problems."""
        now_s = time.monotonic()
        if now_s < self._looked_s + _LOOK_S:
            return []
        self._looked_s = now_s
        before, self._held_by = self._held_by, batch.held_by(self.group)
        if before != self._held_by:  # before Linux 6.2 this reset every thread to all CPUs
            self._masks.clear()
            self._asked = None
        if batch.is_whole(self.group):
            if not batch.is_as_set(self.now.batch, self.group, self.all_cpus):
                return [_RESET, *self._set_again()]
            return [] if before == self._held_by else self._set_again()
        below = {controller: folder.parent for controller, folder in self.group.folders.items()}
        more = remembered.together(self._remembered.switched_on, batch.to_switch_on(below))
        self._remembered = msgspec.structs.replace(self._remembered, switched_on=more)
        remembered.write(self._remembered)
        try:
            batch.make(self.group.name, below, self.all_cpus, self.group.share)
        except MissingError as error:
            return [f"{_SWITCHED_OFF}: {error.message}"]
        return [f"{_SWITCHED_OFF}; it has them again", *self._set_again()]

    def _set_again(self) -> list[str]:
        """Write again what differs from a new group's settings; the weight is always written."""
        now = self.now.batch
        left = Batch(policy=now.policy, nice=now.nice, suspended=now.suspended, weight=0)
        return batch.change(left, now, self.group, self.all_cpus)

    def _apply_batch(self, wanted: Settings) -> list[str]:
        if wanted.batch == self.now.batch:
            return []
        self._run_on(wanted.batch.cpus)
        return batch.change(self.now.batch, wanted.batch, self.group, self.all_cpus)

    def _protect(self, wanted: Settings) -> list[str]:
        """Protect the services' memory, or restore what their groups held before."""
        self._remembered, problems = protecting.change(
            self._service_groups, wanted, self.now, self._remembered
        )
        return problems

    def _run_on(self, cpus: Iterable[int]) -> None:
        """Run the controller on the batch's CPUs, so that its CPU time is taken from the batch.

        An idle CPU wakes slowly, because its caches hold other data by then: in a guest, decisions
        on an idle CPU took 1.4 times as long.
        """
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {*cpus} & {*self.all_cpus} or self.all_cpus)

    @contextlib.contextmanager
    def everywhere(self) -> Iterator[None]:
        """Run on all CPUs while starting a child that must not inherit the batch's CPUs."""
        self._run_on(self.all_cpus)
        try:
            yield
        finally:
            self._run_on(self.now.batch.cpus)

    def leave(self) -> None:
        """Run the controller on all its CPUs again; `remembered` restores the rest."""
        self._run_on(self.all_cpus)

    def close(self) -> None:
        """End the process that keeps the batch program's scope, once everything is restored."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()

    def _apply_threads(self, wanted: Settings, threads: Mapping[int, int]) -> list[str]:
        changes = differing(self._schedules, schedules(wanted, threads))
        self._remember({tid: threads[tid] for tid, _ in changes}, wanted, threads)
        problems = []
        for tid, schedule in changes:
            found = self._found.get(tid)
            if found is None:
                continue
            try:
                self._schedules[tid] = self._put(found, schedule)
            except ProcessLookupError:
                continue
            except OSError as error:
                problems.append(f"a thread cannot be scheduled so: {attributes.explain(error)}")
                self._schedules[tid] = self._fall_back(found)
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
        except OSError as error:
            if error.errno == errno.EBUSY:  # another program holds reservations: use the rest
                ours = {tid: s for tid, s in self._schedules.items() if s and tid != found.tid}
                self.free_cpus = admission.free_beside(ours, os.cpu_count() or 1)
            raise
        return schedule

    def _allowed(self, tid: int, schedule: Schedule | None) -> Schedule | None:
        """Return the schedule, or nice -20 if the thread may not have a reservation again yet."""
        now_s, before = time.monotonic(), self._schedules.get(tid)
        if schedule and schedule.policy == "deadline":
            return admission.REFUSED if now_s < self._away_until_s.get(tid, 0.0) else schedule
        if before and before.policy == "deadline":
            self._away_until_s[tid] = now_s + leaving.away_s(before)
        return schedule

    def _some_may_soon(self) -> bool:
        """Whether any thread must still wait before its next reservation, but not for ever."""
        now_s = time.monotonic()
        return any(now_s < until_s < math.inf for until_s in self._away_until_s.values())

    def _fall_back(self, found: Found) -> Schedule | None:
        """Set nice -20, or the attributes as found if that is refused too; returns what was set."""
        for schedule in (admission.REFUSED, None):
            try:
                return self._put(found, schedule)
            except OSError as error:
                if error.errno == errno.ESRCH:
                    break
        return None

    def _apply_masks(self, wanted: Settings, threads: Mapping[int, int]) -> list[str]:
        """Set the CPUs of the service's threads; SCHED_DEADLINE ones need all CPUs (EBUSY)."""
        changes = []
        for tid in threads:
            schedule = self._schedules.get(tid)
            own = (schedule.cpus if schedule else ()) or wanted.service_cpus
            if schedule and schedule.policy == "deadline":
                own = ()
            if self._masks.get(tid, ()) != own:
                changes.append((tid, own))
        if not changes:
            return []
        problems = []
        self._remember({tid: threads[tid] for tid, _ in changes}, wanted, threads)
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
        self, touched: Mapping[int, int], wanted: Settings, threads: Mapping[int, int]
    ) -> None:
        """Record threads before their first change, and settings that new threads may inherit."""
        new = {
            found.tid: found
            for tid, pid in self._with_first(touched, threads).items()
            if tid not in self._found and (found := attributes.find(pid, tid)) is not None
        }
        before = self._remembered
        more = remembered.with_inheritable(before, wanted)
        if not new and more == before:
            return
        known = {(found.tid, found.started): found for found in before.threads}
        for tid, found in new.items():
            first = self._found.get(found.pid) or new.get(found.pid)
            own = remembered.inherited(found, before, first) if first else found
            self._found[tid] = known[found.tid, found.started] = own
        living = set(self._found)
        self._remembered = msgspec.structs.replace(
            more, threads=tuple(f for f in known.values() if f.tid in living)
        )
        remembered.write(self._remembered)

    def _with_first(self, touched: Mapping[int, int], threads: Mapping[int, int]) -> dict[int, int]:
        """Add each process's first thread, whose attributes will be those of later threads."""
        return {pid: pid for pid in touched.values() if pid in threads} | dict(touched)

    def _forget_ended(self, threads: Mapping[int, int]) -> None:
        for tid in self._found.keys() - threads.keys():
            leaving.restore(self._found.pop(tid))  # it may only have left the service
            self._schedules.pop(tid, None)
            self._masks.pop(tid, None)
            self._away_until_s.pop(tid, None)


def _uses_more(now: Settings, want: Settings) -> bool:
    """Whether the batch program may use more CPU time under `want` than under `now`."""
    old, new = now.batch, want.batch
    return (
        old.suspended > new.suspended
        or old.idle > new.idle
        or old.weight < new.weight
        or _unlimited(old.quota_cpus) < _unlimited(new.quota_cpus)
    )


def _unlimited(quota: float | None) -> float:
    return math.inf if quota is None else quota
