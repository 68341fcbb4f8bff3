"""The control loop: measure, decide and apply ten times a second; restore everything at the end.

The policy is a pure function that is passed in; sensors and actuators are at the edges.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
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
    several,
    waiting,
)
from aferir.colocation.answers import Read
from aferir.colocation.applying import Machine
from aferir.colocation.guard import Guard, metrics_file
from aferir.colocation.job import Job, Outcome, Reason, Tick
from aferir.colocation.metrics import Totals
from aferir.colocation.observing import Observer, Union
from aferir.colocation.pace import Pace
from aferir.colocation.reporting import Reporter
from aferir.colocation.sensors.base import Sensor
from aferir.colocation.settings import Decider, Policy, ServiceState, State
from aferir.colocation.usage import Watch, most_resident_bytes, process_seconds
from aferir.colocation.waiting import Waiting
from aferir.linux import cgroup, cleaning, journal, process

_MOST_PROBLEMS = 20
_STARTS = 20
"""Number of decisions after which a service that has not answered at all is reported as a problem.
"""
_ENTER = """
while [ "$1" != -- ]; do echo 0 > "$1" || exit 126; shift; done
shift
exec "$@"
"""

Note = Callable[[Tick], None]


def run(
    job: Job,
    sensors: Sequence[Sensor],
    policy: Policy[Any],
    note: Note,
    listening: socket.socket | None = None,
) -> Outcome:
    """Run the batch program beside the services until it ends, or a signal arrives.

    `sensors`: latencies of the job's services, in their order. `listening`: socket on which the
    guard serves metrics. Everything that was changed is restored in any case. Must be called from
    the main thread. Errors: MissingError if a privilege or a service is missing; nothing has been
    changed then.
    """
    have = cgroup.layout()
    found = [(one.service, service.check(one.service)) for one in job.services]
    where = place.beside(found, have)
    own = [waiting.service_group(spec, pids, have) for spec, pids in found]
    privileges.check(where)
    problems = cleaning.clean(journal.orphans(), {remembered.KIND: remembered.give_back})
    if where is not None and where.problem:
        problems.append(where.problem)
    before = admission.sound_bandwidth()
    with attributes.going_first(), _Stopping() as stopping:
        entry = journal.write(remembered.KIND, {})
        try:
            with Guard(entry, listening) as guard:
                machine = Machine(entry, where, [group for group in own if group])
                files = [job.metrics, metrics_file(entry.id) if listening else None]
                reporter = Reporter(entry, job.name, [file for file in files if file])
                helpers = _Helpers(guard, reporter)
                cache = machine.cache is not None
                waits = [Waiting(group, machine.group.folders, cache=cache) for group in own]
                loop = _Loop(job, (sensors, waits), Decider(policy), machine, helpers)
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
    """Ends the loop at SIGINT, SIGTERM or SIGHUP; its end restores the previous handlers."""

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
    """Whether a child process (guard or batch program) has ended; it is not reaped here."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


class _Books(msgspec.Struct):
    """Counters of a run, such as decisions and violations."""

    decisions: int = 0
    late: int = 0
    violations: int = 0
    blind: int = 0
    batch_runs: int = 0
    guards_lost: int = 0
    batch_exit: int | None = None
    problems: dict[str, None] = {}


class _Helpers(NamedTuple):
    """Helpers of a run: its guard, and the reporter of its status."""

    guard: Guard
    reporter: Reporter


class _Loop:
    """A run of the control loop, and its state between two control periods."""

    def __init__(
        self,
        job: Job,
        sensors: tuple[Sequence[Sensor], Sequence[Waiting]],
        decider: Decider,
        machine: Machine,
        helpers: _Helpers,
    ) -> None:
        self._started = (time.monotonic(), time.process_time())
        self._job = job
        self._decider = decider
        self._machine = machine
        self._guard, self._reporter = helpers
        self._levers = sensors[1][0].levers
        self._observers = [
            Observer(served, latencies, waits, self._started[0])
            for served, latencies, waits in zip(job.services, *sensors, strict=True)
        ]
        self._threads = Union()
        self._pace = Pace(job.period_s)
        self._watch = Watch(machine.group)
        self._child: subprocess.Popen[str] | None = None
        self._books = _Books()

    def run(self, stopping: _Stopping, note: Note) -> Reason:
        """Control the batch until there is a reason to end, and return that reason."""
        gc.freeze()  # objects that exist by now stay, so later collections need not scan them
        due = time.monotonic()
        try:
            while not stopping.asked:
                tick = self._tick()
                note(tick)
                ended = [one.has_ended() for one in self._observers]
                if all(ended):
                    return "service ended"
                if _a_child_ended():
                    self._books.guards_lost += self._guard.keep()
                    self._look_at_batch()
                if not self._batch_goes_on():
                    return "batch ended"
                period_s = self._pace.after(tick)
                due += period_s
                now = time.monotonic()
                if now > due + period_s:
                    self._books.late += 1
                    due = now
                time.sleep(max(0.0, due - now))
            return "stopped"
        finally:
            self._machine.leave()
            self._watch.close()
            for one in self._observers:
                one.close()

    def _tick(self) -> Tick:
        """Carry out one control period: measure, decide, apply."""
        now_s = time.monotonic()
        for one in self._observers:
            one.look(now_s)
        threads = self._threads.of([one.follower.threads for one in self._observers])
        state = self._state(now_s, threads)
        applied = self._machine.apply(self._decider.decide(state), threads)
        self._books.decisions += 1
        problems = (*applied.problems, *self._judge(now_s, state))
        if len(self._books.problems) < _MOST_PROBLEMS:
            self._books.problems |= dict.fromkeys(problems)
        tick = Tick(state, applied.now, problems)
        if untold := self._reporter.report(tick, self._totals()):
            self._books.problems[untold] = None
        return tick

    def _judge(self, now_s: float, state: State) -> list[str]:
        """Count violations and decisions without current latency; returns the sensors' problems."""
        books, problems = self._books, []
        pairs = list(zip(self._observers, state.each, strict=True))
        judged = [one.judge(now_s, seen) for one, seen in pairs]
        books.blind += any(unknown for _, unknown in judged)
        books.violations += any(broken for broken, _ in judged)
        for (one, seen), (_, unknown) in zip(pairs, judged, strict=True):
            told = unknown if seen.latency is not None or books.decisions > _STARTS else ""
            of = f"{seen.name}: " if state.services else ""
            found = dict.fromkeys(filter(None, (one.answers.problem, told)))
            problems += [f"{of}{text}" for text in found]
        return problems

    def _totals(self) -> Totals:
        books = self._books
        return Totals(
            decisions=books.decisions,
            violations=books.violations,
            blind=books.blind,
            guards_lost=books.guards_lost,
            batch_cpu_s=self._watch.batch_s,
        )

    def _state(self, now_s: float, threads: Mapping[int, int]) -> State:
        observers, machine = self._observers, self._machine
        critical = {tid: threads[tid] for one in observers for tid in one.follower.critical}
        pids = [pid for one in observers for pid in one.follower.pids]
        use = self._watch.look(now_s, critical, pids)
        services = tuple(one.state(now_s, use) for one in observers)
        for one in observers:
            machine.rescue(one.silent)
        beside, joined = observers[0].used, several.together(services)
        return State(
            **{name: getattr(joined, name) for name in ServiceState.__struct_fields__},
            services=services if len(services) > 1 else (),
            time_s=now_s,
            batch_cpus=use.batch_cpus,
            idle_cpus=use.idle_cpus,
            steal_cpus=use.steal_cpus,
            others_reserved_cpus=use.others_reserved_cpus,
            pressure=use.pressure,
            batch_memory_bytes=beside.batch_memory_bytes,
            batch_disk_bps=beside.batch_disk_bps,
            levers=self._levers,
            batch_throttled=use.batch_throttled,
            cores=len(machine.all_cpus),
            reservable_cpus=machine.threads.free_cpus,
            batch_ended=self._child is None,
            now=machine.now,
        )

    def _look_at_batch(self) -> None:
        """Reap the batch program if it has ended, and record its exit code."""
        code = self._child.poll() if self._child else None
        if code is not None:
            self._books.batch_exit = code
            self._books.batch_runs += 1
            self._child = None

    def _batch_goes_on(self) -> bool:
        """Start the batch program if none runs; False if it has ended and must not be repeated."""
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
        files = self._machine.entrances
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
        """Collect the result of the whole run."""
        books, kept = self._books, tuple(one.kept for one in self._observers)
        helpers = [pid for one in self._observers for pid in one.sensor.helpers]
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
            read=sum((one.read for one in kept), Read()),
            services=kept,
            own_cpu_s=time.process_time() - self._started[1] + helped_s,
            own_memory_bytes=sum(map(most_resident_bytes, (os.getpid(), *helpers))),
            guards_lost=books.guards_lost,
            leaked_cpus=leaked,
            problems=(*problems, *books.problems),
        )
