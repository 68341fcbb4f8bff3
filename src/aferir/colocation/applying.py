"""Applies settings to the machine: the batch's control group, the services' threads and memory.

Whatever is changed is recorded beforehand (see `remembered`), so that it can be restored.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.colocation import admission, batch, grouping, protecting, remembered
from aferir.colocation.levers import cache
from aferir.colocation.place import Place
from aferir.colocation.schedules import Threads
from aferir.colocation.settings import Batch, Settings
from aferir.errors import MissingError
from aferir.linux.journal import Entry

_LOOK_S = 1.0
_SWITCHED_OFF = "somebody has switched off controllers of the batch program's control group"
_RESET = "somebody has reset the batch program's control group; it is set again"


class Applied(msgspec.Struct, frozen=True):
    """Result of applying the settings of one decision."""

    now: Settings
    """Settings now in effect: less than wanted if the kernel refused some, or a thread has
    ended."""
    problems: tuple[str, ...] = ()


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
        self.cache = made.cache
        """The batch program's group of resctrl, where its part of the caches can be limited."""
        self._held_by = batch.held_by(self.group)
        self._service_groups = service_groups
        self.now = Settings()
        self.threads = Threads()
        self._asked: object = None
        self._looked_s = time.monotonic()

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
        self.threads.forget_ended(threads)
        critical = {tid: s for tid, s in want.threads.items() if tid in threads}
        admitted = admission.admit(critical, self.threads.free_cpus)
        wanted = msgspec.structs.replace(want, threads=admitted)
        growing = _uses_more(self.now, wanted)
        if not growing:
            problems += self._apply_batch(wanted)
        problems += self._protect(wanted)
        self._remembered, unset = self.threads.change(wanted, threads, self._remembered)
        problems += unset
        if growing:  # batch work gets more only after the service has what it needs
            problems += self._apply_batch(wanted)
        self.now = self._in_effect(wanted, threads)
        self._asked = None if problems or self.threads.some_may_soon() else asked
        return Applied(self.now, tuple(dict.fromkeys(problems)))

    def _in_effect(self, wanted: Settings, threads: Iterable[int]) -> Settings:
        """Return these settings with the schedules that the threads really have."""
        schedule_of = self.threads.schedule_of
        as_set = {tid: s for tid in wanted.threads if (s := schedule_of(tid)) is not None}
        rest = (schedule_of(tid) for tid in threads if tid not in wanted.threads)
        refused = wanted.service is not None and admission.REFUSED in rest
        of_service = admission.REFUSED if refused else wanted.service
        return msgspec.structs.replace(wanted, threads=as_set, service=of_service)

    def rescue(self, silent: Iterable[int]) -> None:
        """Move threads out of reservations under which the kernel no longer runs them.

        `silent`: as for `Threads.rescue`.
        """
        if self.threads.rescue(silent):
            self._asked = None

    def _mended(self) -> list[str]:
        """Reapply settings lost when other programs switched controllers off; returns problems."""
        now_s = time.monotonic()
        if now_s < self._looked_s + _LOOK_S:
            return []
        self._looked_s = now_s
        before, self._held_by = self._held_by, batch.held_by(self.group)
        if before != self._held_by:  # before Linux 6.2 this reset every thread to all CPUs
            self.threads.forget_masks()
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
        problems = batch.change(self.now.batch, wanted.batch, self.group, self.all_cpus)
        return problems + cache.change(self.now.batch, wanted.batch, self.cache)

    def _protect(self, wanted: Settings) -> list[str]:
        """Protect the services' memory and disk requests, or restore what was there before."""
        self._remembered, problems = protecting.change(
            self._service_groups, self.group.folders, (self.now, wanted), self._remembered
        )
        return problems

    def _run_on(self, cpus: Iterable[int]) -> None:
        """Run the controller on the batch's CPUs, so that its CPU time is taken from the batch.

        An idle CPU wakes slowly, because its caches hold other data by then: in a guest, decisions
        on an idle CPU took 1.4 times as long.
        """
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {*cpus} & {*self.all_cpus} or self.all_cpus)

    @property
    def entrances(self) -> list[str]:
        """Files to which a process writes 0 to become a part of the batch program."""
        files = [folder / "cgroup.procs" for folder in self.group.folders.values()]
        return list(map(str, [*files, self.cache / cache.TASKS] if self.cache else files))

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
