"""One arm of a trial: a policy, a load of the service and a batch program, for some seconds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.colocation.settings import Latency, Sla
from aferir.colocation.trials import programs
from aferir.colocation.trials.load import Load, Loader, Rate, Times, Waiting, generator
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.speed import sampling
from aferir.colocation.trials.system import typing
from aferir.errors import ProgramError
from aferir.linux import process, scratch, wait

_STARTING_S = 120.0
_POLL_S = 0.02
_NO_LOAD = Load(asked=(), healthy=True, failed=0)


class Batch(msgspec.Struct, frozen=True):
    """A batch program of `programs`, and its number of threads."""

    program: str
    threads: int
    command: str = ""
    """Shell command of one piece of work, in place of the program's own; empty: the program's
    own."""


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one arm."""

    policy: str
    load: Load
    more: tuple[Load, ...] = ()
    """Loads of the further services, in the order of `Setup.more`."""
    batch_per_s: float
    """Pieces of batch work that were completed per second."""
    batch_cpus: float
    """CPUs that the batch program used on average."""
    idle_cpus: float
    """CPUs that were idle."""
    cpus: int
    """Number of the machine's CPUs."""
    system_s: tuple[float, ...]
    """Response times in seconds of a small task of the system, ten per second."""
    own_cpus: float
    """CPUs that the controller used."""
    own_memory_bytes: float
    leaked_cpus: float
    speed: float
    """Speed of the machine during the arm; 0: unknown. See `aferir.colocation.trials.speed`."""
    problems: tuple[str, ...] = ()

    @property
    def loads(self) -> tuple[Load, ...]:
        """Loads of all services, that of the first one first."""
        return (self.load, *self.more)

    def latency(self, sla: Sla) -> Latency | None:
        """The first service's quantile; None if there are too few responses for an interval."""
        return self.load.latency(sla)

    def violations(self, sla: Sla) -> float:
        """Share of the first service's requests that took longer than the bound."""
        found = self.load.latencies()
        return found.above(sla.bound_s) / max(found.total, 1)

    def meets(self, sla: Sla) -> bool:
        """Whether the whole interval of the first service's quantile is within the bound."""
        return self.load.meets(sla)


class Loaded(msgspec.Struct, frozen=True):
    """A running service with its SLA and its load."""

    service: Running
    sla: Sla
    rate: Rate
    loader: Loader = generator
    """Starts the load generator."""


class Setup(msgspec.Struct, frozen=True):
    """Conditions that all arms of a cell have in common."""

    service: Running
    sla: Sla
    rate: Rate
    """Load of the service; 0: no requests."""
    batch: Batch
    times: Times = Times()
    seed: int = 1
    loader: Loader = generator
    """Function that starts the load generator."""
    options: tuple[str, ...] = ()
    """Further options of `aferir colocate`."""
    more: tuple[Loaded, ...] = ()
    """Further services beside the same batch program."""

    @property
    def each(self) -> tuple[Loaded, ...]:
        """All services, the first one of this setup itself."""
        return (Loaded(self.service, self.sla, self.rate, self.loader), *self.more)

    def without_load(self) -> Setup:
        """Return this setup without requests, to measure the batch program alone."""
        idle = tuple(msgspec.structs.replace(one, rate=0.0) for one in self.more)
        return msgspec.structs.replace(self, rate=0.0, more=idle)


def run(policy: str, setup: Setup) -> Arm:
    """Run services and batch program under a policy; everything is restored afterwards.

    Errors: MissingError; ProgramError if the controller or the load generator fails.
    """
    times = setup.times
    with scratch.folder() as folder, contextlib.ExitStack() as stack:
        typed = stack.enter_context(typing(folder))
        speed = stack.enter_context(sampling(folder))
        asking = [
            stack.enter_context(_asking(one, times, setup.seed + number, folder / f"load-{number}"))
            for number, one in enumerate(setup.each)
        ]
        controller = stack.enter_context(_controlled(policy, setup, folder))
        for one in asking:
            if one is not None:
                one.begin()
        time.sleep(times.warm_up_s)
        begun, before, idle = time.monotonic(), programs.finished(folder), _idle_s()
        time.sleep(times.measured_s)
        ended, done = time.monotonic(), programs.finished(folder) - before
        seconds, idle = ended - begun, _idle_s() - idle
        system, fast = typed.answers(begun), speed.mean(begun, ended)
        load, *more = [one.result() if one else _NO_LOAD for one in asking]
        outcome = _outcome(controller)
    return Arm(
        policy=policy,
        load=load,
        more=tuple(more),
        batch_per_s=done / seconds,
        batch_cpus=outcome.batch_cpu_s / outcome.duration_s,
        idle_cpus=idle / seconds,
        cpus=os.cpu_count() or 1,
        system_s=system,
        speed=fast,
        own_cpus=outcome.own_cpu_s / outcome.duration_s,
        own_memory_bytes=outcome.own_memory_bytes,
        leaked_cpus=outcome.leaked_cpus or 0.0,
        problems=outcome.problems,
    )


@contextlib.contextmanager
def _asking(one: Loaded, times: Times, seed: int, folder: Path) -> Iterator[Waiting | None]:
    """The load generator of a service, with its files in a new `folder`; None without a load."""
    if one.rate == 0:
        yield None
        return
    folder.mkdir()
    with one.loader(one.service, one.rate, times, seed, folder) as generating:
        yield generating


class _Outcome(msgspec.Struct, frozen=True):
    """The fields of interest in the output of `aferir colocate --json`."""

    own_cpu_s: float
    own_memory_bytes: int
    batch_cpu_s: float
    duration_s: float
    leaked_cpus: float | None
    problems: tuple[str, ...]


def _idle_s() -> float:
    """Idle time of all CPUs since boot, in seconds (proc(5), /proc/uptime)."""
    return float(Path("/proc/uptime").read_text().split()[1])


@contextlib.contextmanager
def _controlled(policy: str, setup: Setup, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The controller process, after its first decision, with the batch program running."""
    batch, decisions, job = setup.batch, folder / "decisions", folder / "job"
    job.write_text("\n".join(map(_table, setup.each)), encoding="utf-8")
    command = [sys.executable, "-m", "aferir", "colocate", "--job", str(job), "--policy", policy]
    command += ["--json", *setup.options, "--log", str(decisions), "--"]
    child = process.start(
        [*command, *programs.loop(batch.program, folder, batch.threads, batch.command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait.until(
            lambda: child.poll() is not None or _decides(decisions),
            wait.after(_STARTING_S),
            period_s=_POLL_S,
        )
        if child.poll() is not None or not _decides(decisions):
            said = child.stderr.read() if child.stderr and child.poll() is not None else ""
            raise ProgramError(f"`aferir colocate` does not start: {said.strip()[-300:]}")
        yield child
    finally:
        process.end(child)


def _table(one: Loaded) -> str:
    """Table of a service in a job file. Strings and lists of strings are alike in JSON and TOML."""
    service, sla = one.service, one.sla
    values = {
        "service": f"pid:{service.pid}",
        "sla": f"p{100 * sla.quantile:g}={1e3 * sla.bound_s:g}ms",
        "latency": service.latency,
        "threads": service.threads,
        "java": service.java,
    }
    lines = (f"{key} = {json.dumps(value)}" for key, value in values.items())
    return "\n".join(("[[services]]", *lines))


def _decides(decisions: Path) -> bool:
    """Whether the controller has logged a decision."""
    return decisions.exists() and decisions.stat().st_size > 0


def _outcome(controller: subprocess.Popen[str]) -> _Outcome:
    os.kill(controller.pid, signal.SIGINT)
    try:
        said, errors = controller.communicate(timeout=_STARTING_S)
    except subprocess.TimeoutExpired:
        raise ProgramError(
            f"`aferir colocate` did not end within {_STARTING_S:g} s",
            remedy="a machine with less load of others",
        ) from None
    try:
        return msgspec.json.decode(said, type=_Outcome)
    except msgspec.DecodeError:
        raise ProgramError(f"`aferir colocate` failed: {errors.strip()[-300:]}") from None
