"""The control loop: measure, decide and apply ten times a second; restore everything at the end.

The policy is a pure function that is passed in; sensors and actuators are at the edges.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, Self

import msgspec

from aferir.colocation import (
    admission,
    attributes,
    batch,
    place,
    privileges,
    remembered,
    service,
    waiting,
)
from aferir.colocation.answers import Answers
from aferir.colocation.applying import Machine
from aferir.colocation.critical import occupied
from aferir.colocation.follow import Follower
from aferir.colocation.guard import Guard
from aferir.colocation.job import Job, Outcome, Reason, Tick
from aferir.colocation.metrics import Totals
from aferir.colocation.reporting import Reporter
from aferir.colocation.sensors.base import Sensor
from aferir.colocation.settings import Decider, Policy, State, ThreadUse
from aferir.colocation.usage import Watch, most_resident_bytes, process_seconds
from aferir.colocation.waiting import Waiting
from aferir.linux import cgroup, cleaning, journal, process

_MOST_PROBLEMS = 20
_STARTS = 20
"""Decisions after which "no answer yet" is reported as a problem."""
_RESTARTS_S = 30.0
"""Seconds for which the loop waits for a service to restart, unless it was named by its process
ID."""
_ENTER = """
while [ "$1" != -- ]; do echo 0 > "$1" || exit 126; shift; done
shift
exec "$@"
"""

Note = Callable[[Tick], None]


def run(job: Job, sensor: Sensor, policy: Policy[Any], note: Note) -> Outcome:
    """Run the batch program beside the service until it ends, or a signal arrives.

    Everything that was changed is restored in any case. Must be called from the main thread.
    Errors: MissingError if a privilege or the service is missing; nothing has been changed then.
    """
    pids, have = service.check(job.service), cgroup.layout()
    where = place.beside(job.service, pids, have)
    own = waiting.service_group(job.service, pids, have)
    privileges.check(where)
    problems = cleaning.clean(journal.orphans(), {remembered.KIND: remembered.give_back})
    if where is not None and where.problem:
        problems.append(where.problem)
    before = admission.sound_bandwidth()
    with attributes.going_first(), _Stopping() as stopping:
        entry = journal.write(remembered.KIND, {})
        try:
            with Guard(entry) as guard:
                machine = Machine(entry, where, own)
                reporter = Reporter(entry, str(job.service), job.metrics)
                helpers = _Helpers(guard, reporter, Waiting(own, machine.group.folders))
                loop = _Loop(job, sensor, Decider(policy), machine, helpers)
                try:
                    reason = loop.run(stopping, note)
                finally:
                    problems += remembered.undo(entry)
                    machine.close()
        except BaseException:
            remembered.undo(entry)
            raise
    return loop.outcome(reason, tuple(problems), admission.leaked(before))


class _Stopping:
    """Ends the loop at SIGINT, SIGTERM or SIGHUP; a context that restores the previous handlers."""

    def __init__(self) -> None:
        self.asked = False
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before.append((number, signal.signal(number, self._stop)))
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def _a_child_ended() -> bool:
    """Whether a child has ended, guard or batch program; the child is not reaped here."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


class _Books(msgspec.Struct):
    """Counters of a run."""

    decisions: int = 0
    late: int = 0
    violations: int = 0
    blind: int = 0
    batch_runs: int = 0
    guards_lost: int = 0
    batch_exit: int | None = None
    problems: dict[str, None] = {}


class _Helpers(NamedTuple):
    """Parts of a run other than its actuator and its sensor of latency."""

    guard: Guard
    reporter: Reporter
    waits: Waiting


class _Loop:
    """A run of the control loop, and its state between two control periods."""

    def __init__(
        self,
        job: Job,
        sensor: Sensor,
        decider: Decider,
        machine: Machine,
        helpers: _Helpers,
    ) -> None:
        self._started = (time.monotonic(), time.process_time())
        self._job = job
        self._sensor = sensor
        self._decider = decider
        self._machine = machine
        self._guard, self._reporter, self._waits = helpers
        self._follower = Follower(job.service, job.selector)
        self._watch = Watch(machine.group)
        self._threads: tuple[object, object, tuple[ThreadUse, ...], float] = (None, None, (), 0.0)
        self._service_cores = 0
        self._answers = Answers(sensor, job.sla, self._started[0])
        self._child: subprocess.Popen[str] | None = None
        self._alone_since_s: float | None = None
        self._books = _Books()

    def run(self, stopping: _Stopping, note: Note) -> Reason:
        """Control the batch until there is a reason to end, and return that reason."""
        gc.freeze()  # objects that exist by now stay, so later collections need not scan them
        due = time.monotonic()
        try:
            while not stopping.asked:
                note(self._tick())
                if self._service_ended():
                    return "service ended"
                if _a_child_ended():
                    self._books.guards_lost += self._guard.keep()
                    self._look_at_batch()
                if not self._batch_goes_on():
                    return "batch ended"
                due += self._job.period_s
                now = time.monotonic()
                if now > due + self._job.period_s:
                    self._books.late += 1
                    due = now
                time.sleep(max(0.0, due - now))
            return "stopped"
        finally:
            self._machine.leave()
            self._watch.close()
            self._follower.close()

    def _tick(self) -> Tick:
        """One control period: measure, decide, apply."""
        now_s = time.monotonic()
        self._answers.look(now_s)
        self._follower.look(now_s, self._answers.rate)
        state = self._state(now_s)
        applied = self._machine.apply(self._decider.decide(state), self._follower.threads)
        books = self._books
        books.decisions += 1
        blind = self._answers.blind(now_s, state.service_cpus)
        if blind:
            books.blind += 1
        elif state.latency is not None and state.latency.quantile_s > state.sla.bound_s:
            books.violations += 1
        told = blind if state.latency is not None or books.decisions > _STARTS else ""
        problems = (*applied.problems, *dict.fromkeys(filter(None, (self._answers.problem, told))))
        if len(books.problems) < _MOST_PROBLEMS:
            books.problems |= dict.fromkeys(problems)
        tick = Tick(state, applied.now, problems)
        if untold := self._reporter.report(tick, self._totals()):
            books.problems[untold] = None
        return tick

    def _totals(self) -> Totals:
        books = self._books
        return Totals(
            decisions=books.decisions,
            violations=books.violations,
            blind=books.blind,
            guards_lost=books.guards_lost,
            batch_cpu_s=self._watch.batch_s,
        )

    def _state(self, now_s: float) -> State:
        follower = self._follower
        threads = {tid: follower.threads[tid] for tid in follower.critical}
        use = self._watch.look(now_s, threads, follower.pids)
        critical, pool = self._critical(use.threads)
        beside = self._waits.look(now_s)
        return State(
            time_s=now_s,
            sla=self._job.sla,
            latency=self._answers.latency,
            rate=self._answers.rate,
            silent_s=self._answers.silent_s(now_s),
            threads=critical,
            occupied=pool,
            service_cpus=use.service_cpus,
            batch_cpus=use.batch_cpus,
            idle_cpus=use.idle_cpus,
            steal_cpus=use.steal_cpus,
            others_reserved_cpus=use.others_reserved_cpus,
            pressure=use.pressure,
            waits=beside.waits,
            batch_memory_bytes=beside.batch_memory_bytes,
            batch_disk_bps=beside.batch_disk_bps,
            service_memory_bytes=beside.service_memory_bytes,
            levers=self._waits.levers,
            batch_throttled=use.batch_throttled,
            cores=len(self._machine.all_cpus),
            service_cores=self._service_cores,
            reservable_cpus=self._machine.free_cpus,
            batch_ended=self._child is None,
            now=self._machine.now,
        )

    def _critical(
        self, used: dict[int, tuple[float, float]]
    ) -> tuple[tuple[ThreadUse, ...], float]:
        """Use of the critical threads, and the occupied share of their fullest pool.

        Both are recomputed only when the critical threads or their measured use have changed.
        """
        follower = self._follower
        if self._threads[0] is not used or self._threads[1] != follower.critical:
            made = tuple(
                ThreadUse(tid=tid, name=follower.name(tid), cpus=run, waited_cpus=waited)
                for tid in sorted(follower.critical)
                for run, waited in [used.get(tid, (0.0, 0.0))]
            )
            self._threads = (used, follower.critical, made, occupied(made))
            self._service_cores = service.usable_cpus(follower.pids)
            self._machine.rescue(one.tid for one in made if not one.cpus)
        return self._threads[2:]

    def _service_ended(self) -> bool:
        """Whether the service has ended: at once if named by process ID, else after 30 s."""
        if self._follower.pids:
            self._alone_since_s = None
            return False
        now_s = time.monotonic()
        self._alone_since_s = self._alone_since_s or now_s
        patience_s = _RESTARTS_S if self._job.service.may_restart else 0.0
        return now_s - self._alone_since_s >= patience_s

    def _look_at_batch(self) -> None:
        """Reap the batch program if it has ended, and record its exit code."""
        code = self._child.poll() if self._child else None
        if code is not None:
            self._books.batch_exit = code
            self._books.batch_runs += 1
            self._child = None

    def _batch_goes_on(self) -> bool:
        """Start the batch program if none runs; False if it has ended and is not to be repeated."""
        if self._child is None:
            if self._books.batch_runs and not self._job.repeat:
                return False
            self._child = self._start()
        return True

    def _start(self) -> subprocess.Popen[str]:
        """Start a shell that enters the control group and executes the batch program there.

        The program reads its number of threads from OMP_NUM_THREADS and `{threads}`. It is not
        started in the group because a frozen or throttled group would block this process too, which
        waits until the program has been executed.
        """
        threads = str(self._machine.now.batch.threads or len(self._machine.all_cpus))
        command = [word.replace("{threads}", threads) for word in self._job.command]
        files = [str(path / "cgroup.procs") for path in self._machine.group.folders.values()]
        with self._machine.everywhere():
            child = process.start(
                ["sh", "-c", _ENTER, "sh", *files, "--", *command],
                stdout=self._job.batch_output,
                stderr=2,
                environment={"OMP_NUM_THREADS": threads},
            )
        machine = self._machine
        problems = batch.take_in(child.pid, machine.now.batch, machine.group, machine.all_cpus)
        self._books.problems |= dict.fromkeys(problems)
        return child

    def outcome(self, reason: Reason, problems: tuple[str, ...], leaked: float | None) -> Outcome:
        """Result of the whole run."""
        books, helpers = self._books, self._sensor.helpers
        helped_s = sum(process_seconds(pid) or 0.0 for pid in helpers)
        return Outcome(
            reason=reason,
            batch_exit=books.batch_exit,
            batch_runs=books.batch_runs,
            batch_cpu_s=self._watch.batch_s,
            duration_s=time.monotonic() - self._started[0],
            decisions=books.decisions,
            late=books.late,
            violations=books.violations,
            blind=books.blind,
            read=self._answers.read,
            own_cpu_s=time.process_time() - self._started[1] + helped_s,
            own_memory_bytes=sum(map(most_resident_bytes, (os.getpid(), *helpers))),
            guards_lost=books.guards_lost,
            leaked_cpus=leaked,
            problems=(*problems, *books.problems),
        )
