"""The phases of a run as a trace in Chrome's Trace Event Format, for Perfetto or chrome://tracing.

Each environment is a process with two threads: its programs, and its allocations with their phases.
Curves over time, such as those of power and load, are its counters.
Times are those of one clock, also for environments on other hosts; `start_error_us` is the largest
error of a start, and events that are nearer to each other than their errors are in no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from aferir.model.plan import Plan
from aferir.model.record import ALLOCATION, Record
from aferir.model.stamps import Stamp
from aferir.report.analyse import PHASES
from aferir.store.run import Run

Event = dict[str, Any]
"""One event; the format defines the keys: `ph`, `ts` and `dur` in µs, `pid`, `tid`."""
_PROGRAMS, _ALLOCATIONS = 1, 2


def write_trace(path: Path, run: Run) -> None:
    """Write the phases of a run to a file. Errors: OSError."""
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"run": run.folder.resolve().name, "aferir": run.provenance.version},
        "traceEvents": list(events(run.plan, run.records)),
    }
    path.write_bytes(msgspec.json.encode(document))


def events(plan: Plan, records: tuple[Record, ...]) -> Iterator[Event]:
    """Events of all records; time 0 is the start of the first one.

    The end of a release is not recorded, so it is not shown.
    """
    processes = {spec.name: k + 1 for k, spec in enumerate(plan.environments)}
    for name, pid in processes.items():
        yield _name("process_name", pid, _PROGRAMS, name)
        yield _name("thread_name", pid, _PROGRAMS, "programs")
        yield _name("thread_name", pid, _ALLOCATIONS, "allocations")
    start_ns = min((_began(record).unix_ns for record in records), default=0)
    for record in records:
        pid = processes.get(record.environment, 0)
        at_us = (_began(record).unix_ns - start_ns) / 1000
        if record.workload == ALLOCATION:
            yield from _allocation(record, pid, at_us)
        else:
            yield _repetition(record, pid, at_us)
            yield from _counters(record, pid, start_ns)


def _began(record: Record) -> Stamp:
    """Start by our clock; if that is unknown, the time at which it was requested."""
    return record.began or Stamp(record.started_unix_ns)


def _name(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _repetition(record: Record, pid: int, at_us: float) -> Event:
    """Event of a repetition: a span, or a moment if a failed repetition has no duration."""
    values = {one.metric: one.value for one in record.samples if one.side == "program"}
    common = {
        "name": record.group,
        "cat": "warm-up" if record.warmup else "repetition",
        "ts": at_us,
        "pid": pid,
        "tid": _PROGRAMS,
        "args": {
            "repetition": record.repetition,
            "start_error_us": _began(record).bound_ns / 1000,
            "failure": record.failure.code if record.failure else "",
            "warnings": [warning.code for warning in record.warnings],
        },
    }
    if "duration_s" not in values:
        return common | {"ph": "i", "s": "t"}
    return common | {"ph": "X", "dur": 1e6 * values["duration_s"]}


def _counters(record: Record, pid: int, start_ns: int) -> Iterator[Event]:
    """Curves over time as counters; their errors are in the other forms of the samples."""
    for series in record.series:
        for place, value in zip(series.at, series.values, strict=True):
            if (time := series.moment(place)) is not None:
                yield {
                    "ph": "C",
                    "name": series.metric,
                    "cat": "series",
                    "ts": (time.unix_ns - start_ns) / 1000,
                    "pid": pid,
                    "args": {series.label or series.unit: value},
                }


def _allocation(record: Record, pid: int, at_us: float) -> Iterator[Event]:
    """A span for the whole allocation, and one inside for each of its phases, end to end."""
    values = {one.metric: one.value for one in record.samples}
    error = {"start_error_us": _began(record).bound_ns / 1000}
    place: Event = {"ph": "X", "cat": ALLOCATION, "pid": pid, "tid": _ALLOCATIONS, "args": error}
    if "total_s" in values:
        yield place | {"name": ALLOCATION, "ts": at_us, "dur": 1e6 * values["total_s"]}
    for phase in PHASES:
        if phase in values:
            yield place | {
                "name": phase.removesuffix("_s"),
                "ts": at_us,
                "dur": 1e6 * values[phase],
            }
            at_us += 1e6 * values[phase]
