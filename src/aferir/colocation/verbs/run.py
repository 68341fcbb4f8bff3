"""Run batch work beside a service that keeps its service level.

The service's critical threads get the CPU time that they need, the batch program the rest.
Everything is restored at the end, however the run ends. Exit code: the batch program's.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from aferir.errors import MissingError, UsageError

if TYPE_CHECKING:
    from aferir.colocation.answers import Read
    from aferir.colocation.job import Job, Outcome, Tick
    from aferir.config.colocation import Wanted, WantedService

NAME = "run"
HELP = "run a batch program beside a service; the verb may be left out"
_STOPPED = 130
_ENDED_SERVICE = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate`."""
    parser.usage = (
        "aferir colocate --service SPEC --sla p95=200ms --latency WHERE [options] -- COMMAND ..."
    )
    parser.add_argument("--job", type=Path, metavar="FILE", help="file with these options (TOML)")
    _add_services(parser)
    parser.add_argument(
        "--policy", metavar="NAME", help="policy (default: aferir); `list` prints all names"
    )
    parser.add_argument(
        "--batch-share",
        metavar="SHARE",
        help="weight of the batch while latency is far below the SLA, relative to one process of "
        "normal priority; 0: it yields to all others (default: 1, if others use much CPU time)",
    )
    parser.add_argument(
        "--period", metavar="TIME", help="time between two decisions (default: 100ms)"
    )
    parser.add_argument(
        "--repeat",
        action="store_true",
        default=None,
        help="start the batch program again when it ends",
    )
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="write OpenMetrics text, e.g. for node_exporter's textfile collector",
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        metavar="PORT",
        help="serve the same at http://127.0.0.1:PORT/metrics; 0: at a free port",
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="write every decision as a line of JSON"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="say what would be missing, and what is read of the service in two seconds",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("batch", nargs="*", metavar="COMMAND", help="the batch program")


def _add_services(parser: argparse.ArgumentParser) -> None:
    """Declare the options that describe services."""
    parser.add_argument(
        "--service",
        action="append",
        metavar="SPEC",
        help="pid:N, pidfile:PATH, comm:NAME, cgroup:PATH, unit:NAME, container:NAME, pod:UID; "
        "may be repeated, with an --sla and a --latency for each in the same order",
    )
    parser.add_argument("--sla", action="append", metavar="pQ=TIME", help="e.g. p95=200ms")
    parser.add_argument(
        "--latency",
        action="append",
        metavar="WHERE",
        help="slowlog:PATH, nginx:PATH[#FORMAT], json:PATH#FIELD@ms, regex:PATH#EXPRESSION@ms, "
        "prometheus:URL#METRIC@s, or http://HOST:PORT/PATH, which is asked ten times a second",
    )
    parser.add_argument(
        "--no-answer",
        action="append",
        metavar="REGEX",
        help="lines of the log that match are no responses, such as long polls and streams",
    )
    parser.add_argument(
        "--threads",
        action="append",
        metavar="REGEX",
        help="critical threads by the kernel's name (15 letters)",
    )
    parser.add_argument(
        "--java", action="append", metavar="REGEX", help="critical threads by Java's full name"
    )


def execute(options: argparse.Namespace) -> int:
    """Run until the batch program or the service ends, or a signal arrives; the exit code."""
    from aferir.colocation import controller, guard
    from aferir.colocation.policies import POLICIES, make
    from aferir.colocation.policies.parameters import gone
    from aferir.config import colocation, latency

    if options.policy == "list":
        print("\n".join(POLICIES))
        return 0
    wanted = _merged(options)
    job = colocation.job(wanted, batch_output=2 if options.json else 1)
    given = colocation.parameters(wanted)
    policy = make(wanted.policy, given)
    for sentence in gone(given):
        print(f"aferir: {sentence}", file=sys.stderr)
    if options.check:
        return _check(job) or max(map(_check_sensor, wanted.each))
    colocation.need_batch(job)
    with contextlib.ExitStack() as stack:
        sensors = []
        for one, served in zip(wanted.each, job.services, strict=True):
            sensors.append(latency.sensor(one.latency, served.sla, one.no_answer))
            stack.callback(sensors[-1].close)
        log = stack.enter_context(_Log(options.log))
        listening = None
        if wanted.metrics_port is not None:
            listening = stack.enter_context(guard.listen(wanted.metrics_port))
            where = f"{guard.ADDRESS}:{listening.getsockname()[1]}{guard.METRICS}"
            print(f"aferir: metrics are served at http://{where}", file=sys.stderr)
        outcome = controller.run(job, sensors, policy, log.note, listening)
    _print(outcome, json=options.json)
    return _exit_code(outcome)


def _merged(options: argparse.Namespace) -> Wanted:
    """Values of the job file, overridden by those of the command line."""
    import msgspec

    from aferir.config.colocation import Wanted, read

    said = {
        name: tuple(value) if isinstance(value, list) else value
        for name in Wanted.__struct_fields__
        if (value := getattr(options, name, None)) not in (None, [])
    }
    file = read(options.job) if options.job else Wanted()
    return msgspec.structs.replace(file, **_paired(said))


def _paired(said: dict[str, Any]) -> dict[str, Any]:
    """Join repeated options of several services to a list of services.

    Regular expressions for threads and lines hold for all of them. Errors: UsageError.
    """
    from aferir.config.colocation import WantedService

    lists = {name: said.pop(name, ()) for name in ("service", "sla", "latency")}
    counts = {len(values) for values in lists.values()}
    if max(counts) <= 1:
        return said | {name: values[0] for name, values in lists.items() if values}
    if len(counts) > 1:
        raise UsageError(
            ", ".join(f"{len(values)} --{name}" for name, values in lists.items())
            + ": each service has one of each",
            remedy="repeat them in the same order, or write [[services]] in a file: --job FILE",
        )
    alike = {name: said.pop(name) for name in ("no_answer", "threads", "java") if name in said}
    each = (dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True))
    return said | {"services": tuple(WantedService(**one, **alike) for one in each)}


def _check(job: Job) -> int:
    """Report whether the services run and what is missing; returns an exit code."""
    from aferir.colocation import place, privileges, service
    from aferir.linux import cgroup

    found = [(one.service, service.check(one.service)) for one in job.services]
    for spec, pids in found:
        who = f"the service {spec}" if len(found) > 1 else "the service"
        print(f"{who} runs: {len(pids)} processes")
    findings = privileges.findings(place.beside(found, cgroup.layout()))
    for finding in findings:
        print(f"{finding.status:8} {finding.message}")
        if finding.status == "missing" and finding.remedy:
            print(f"  remedy: {finding.remedy}")
    return MissingError.exit_code if any(f.status == "missing" for f in findings) else 0


def _check_sensor(wanted: WantedService) -> int:
    """Report what is read of the service; returns an exit code, not 0 if there is a problem."""
    from aferir.colocation.sensors import check
    from aferir.config import colocation, latency

    sla = colocation.parse_sla(wanted.sla)
    sensor = latency.sensor(wanted.latency, sla, wanted.no_answer)
    try:
        lines, problem = check.seen(sensor, sla)
    finally:
        sensor.close()
    print("\n".join(lines))
    return MissingError.exit_code if problem else 0


class _Log:
    """Writes every decision as a line of JSON; a context."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._file = self._path.open("ab")
            except OSError as error:
                raise UsageError(
                    f"--log {self._path}: {error.strerror}",
                    remedy="name another file",
                ) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def note(self, tick: Tick) -> None:
        """Write one decision."""
        if self._file is not None:
            import msgspec

            self._file.write(msgspec.json.encode(tick) + b"\n")
            self._file.flush()


def _print(outcome: Outcome, *, json: bool) -> None:
    if json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(outcome)).decode())
        return
    share = outcome.own_cpu_s / outcome.duration_s
    print(
        f"aferir: {outcome.reason} after {outcome.duration_s:.1f} s; {_all_kept(outcome)};"
        f" the batch program had"
        f" {outcome.batch_cpu_s:.1f} CPU seconds, we {share:.1%} of a core and"
        f" {outcome.own_memory_bytes / 1e6:.0f} MB",
        file=sys.stderr,
    )
    for problem in outcome.problems:
        print(f"  {problem}", file=sys.stderr)


def _all_kept(outcome: Outcome) -> str:
    """Sentence on the service level of each service, by name if there are several."""
    several = len(outcome.services) > 1
    return "; ".join(
        (f"{one.service}: " if several else "")
        + _kept(outcome.decisions, one.violations, one.blind, one.read)
        for one in outcome.services
    )


def _kept(decisions: int, violations: int, blind: int, read: Read) -> str:
    """Sentence on a service level: missed, met or unknown, and what was not read."""
    judged = decisions - blind
    words = [f"the service level was missed at {violations} of {judged} decisions"]
    if not judged:
        words = ["whether the service level was kept is not known"]
    if blind:
        words.append(f"{blind} decisions were made blind, without answers of then")
    if read.failed:
        share = read.failed / read.answers
        words.append(f"{read.failed} of {read.answers} requests failed ({share:.1%})")
    if read.unread:
        share = read.unread / (read.unread + read.answers + read.aside)
        words.append(f"{share:.1%} of what the service wrote was not understood")
    return "; ".join(words)


def _exit_code(outcome: Outcome) -> int:
    if outcome.reason == "stopped":
        return _STOPPED
    if outcome.reason == "service ended":
        return _ENDED_SERVICE
    code = outcome.batch_exit or 0
    return code if code >= 0 else 128 - code  # as a shell says it
