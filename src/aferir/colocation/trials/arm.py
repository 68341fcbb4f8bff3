"""One arm of a trial: a policy, a load of the service and a batch program, for some seconds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.settings import Latency, Schedule, Sla
from aferir.colocation.trials import programs
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.speed import sampling
from aferir.colocation.trials.system import typing
from aferir.errors import ProgramError
from aferir.linux import process, scratch, wait
from aferir.programs.kernels import finite, kernel_path, positive, read_figures

_STARTING_S = 40.0
_POLL_S = 0.02
_PATIENCE_S = 5.0
_FIRST = attributes.of(Schedule(policy="deadline", runtime_s=0.0002, period_s=0.002, reclaim=True))
"""Attributes of the load generator. It represents users elsewhere, and so must send when a request
is due. SCHED_FIFO would let it wait behind reservations, so it has the most urgent reservation.
Beyond its tenth of a CPU, it uses bandwidth that is not reserved: without that it was throttled,
and a reservation as large as it needs would be taken from the services
(docs/decisions/users-who-are-not-throttled.md)."""
_WHEN_TOLD = ("sh", "-c", 'read -r told && exec "$@"', "sh")
"""Delays a command until a line is written to it, so that it gets its reservation before a policy
reserves all that is left."""
Rate = float | str
"""Requests per second, or steps `S:N,...` as for `request-clients --rate`."""


class Batch(msgspec.Struct, frozen=True):
    """A batch program of `programs`, and its number of threads."""

    program: str
    threads: int


class Asked(msgspec.Struct, frozen=True):
    """One request: intended time in seconds from the start of the load, and latency."""

    intended_s: float
    latency_s: float
    status: int
    url: int


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an open-loop load."""

    asked: tuple[Asked, ...]
    healthy: bool
    """Whether the load generator sent its requests on time."""
    failed: int
    cpus: float = 0.0
    """CPUs that the load generator used."""

    def latencies(self) -> Histogram:
        """Latencies of all requests after the warm-up."""
        return Histogram(one.latency_s for one in self.asked)


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one arm."""

    policy: str
    load: Load
    batch_per_s: float
    """Pieces of batch work completed per second."""
    batch_cpus: float
    """CPUs that the batch program used."""
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

    def latency(self, sla: Sla) -> Latency | None:
        """The SLA's quantile; None if there are too few responses for an interval."""
        return self.load.latencies().quantile(sla.quantile)

    def violations(self, sla: Sla) -> float:
        """Share of the requests that took longer than the bound."""
        found = self.load.latencies()
        return found.above(sla.bound_s) / max(found.total, 1)

    def meets(self, sla: Sla) -> bool:
        """Whether the whole interval of the quantile is within the bound."""
        found = self.latency(sla)
        return found is not None and found.high_s <= sla.bound_s


class Times(msgspec.Struct, frozen=True):
    """Durations of the warm-up and of the measurement."""

    warm_up_s: float = 2.0
    measured_s: float = 6.0


class Setup(msgspec.Struct, frozen=True):
    """Conditions that all arms of a cell have in common."""

    service: Running
    sla: Sla
    rate: Rate
    """Load of the service; 0: no requests, to measure the batch program alone."""
    batch: Batch
    times: Times = Times()
    seed: int = 1


def ask(service: Running, rate: Rate, times: Times, seed: int) -> Load:
    """Send requests until the load ends. Errors: ProgramError, UnverifiedError."""
    with scratch.folder() as folder:
        child, log = _asking(service, rate, times, seed, folder)
        try:
            _begin(child)
            return _asked(child, log)
        finally:
            process.end(child)


def run(policy: str, setup: Setup) -> Arm:
    """Run service and batch program under a policy; everything is restored afterwards.

    Errors: MissingError; ProgramError if the controller or the load generator fails.
    """
    times = setup.times
    with scratch.folder() as folder, contextlib.ExitStack() as stack:
        typed = stack.enter_context(typing(folder))
        speed = stack.enter_context(sampling(folder))
        generator = None
        if setup.rate != 0:
            generator = _asking(setup.service, setup.rate, times, setup.seed, folder)
            stack.callback(process.end, generator[0])
        controller = stack.enter_context(_controlled(policy, setup, folder))
        if generator:
            _begin(generator[0])
        time.sleep(times.warm_up_s)
        begun, before, idle = time.monotonic(), programs.finished(folder), _idle_s()
        time.sleep(times.measured_s)
        ended, done = time.monotonic(), programs.finished(folder) - before
        seconds, idle = ended - begun, _idle_s() - idle
        system, fast = typed.answers(begun), speed.mean(begun, ended)
        load = _asked(*generator) if generator else Load(asked=(), healthy=True, failed=0)
        outcome = _outcome(controller)
    return Arm(
        policy=policy,
        load=load,
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
    service, sla, batch = setup.service, setup.sla, setup.batch
    decisions = folder / "decisions"
    command = [*(sys.executable, "-m", "aferir", "colocate", "--service", f"pid:{service.pid}")]
    command += ["--sla", f"p{100 * sla.quantile:g}={1e3 * sla.bound_s:g}ms"]
    command += ["--latency", service.latency, "--policy", policy, "--json"]
    command += [word for name in service.threads for word in ("--threads", name)]
    command += [word for name in service.java for word in ("--java", name)]
    command += ["--log", str(decisions), "--"]
    child = process.start(
        [*command, *programs.loop(batch.program, folder, batch.threads)],
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


def _asking(
    service: Running, rate: Rate, times: Times, seed: int, folder: Path
) -> tuple[subprocess.Popen[str], Path]:
    """The load generator, which waits for `_begin`, and its log. Errors: ProgramError."""
    urls, log = folder / "urls", folder / "asked"
    urls.write_text("".join(f"{weight} {url}\n" for weight, url in service.targets))
    child = process.start(
        [
            *(*_WHEN_TOLD, str(kernel_path("request-clients"))),
            *("--urls", str(urls), "--rate", str(rate), "--seed", str(seed), "--log", str(log)),
            *("--warm-up", f"{times.warm_up_s:g}", "--patience", f"{_PATIENCE_S:g}"),
            *("--duration", f"{times.warm_up_s + times.measured_s:g}"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        attributes.write(child.pid, _FIRST)
    except OSError as error:
        process.end(child)
        raise ProgramError(
            "the load generator cannot be scheduled as users elsewhere are:"
            f" {attributes.explain(error)}",
            remedy="end what else has deadline reservations (SCHED_DEADLINE) on this machine",
        ) from None
    return child, log


def _begin(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("now\n")
    child.stdin.flush()


def _asked(child: subprocess.Popen[str], log: Path) -> Load:
    said, errors = child.communicate()
    if child.returncode != 0:
        raise ProgramError(f"request-clients failed: {errors.strip()[-300:]}")
    figures = read_figures(said, "request-clients")
    decoder = msgspec.json.Decoder(Asked)
    return Load(
        asked=tuple(map(decoder.decode, log.read_bytes().splitlines())),
        healthy=figures.get("healthy") is True,
        failed=round(finite(figures, "failed")),
        cpus=finite(figures, "cpu_s") / positive(figures, "duration_s"),
    )
