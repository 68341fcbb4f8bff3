"""Writes and reads the status of running co-locations, as values and as a sentence.

The controller replaces the status file once a second, in the folder of its record of what to
restore. The file is MessagePack, since JSON lacks infinity: the upper end of an interval is
infinite if there are few answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.colocation import remembered
from aferir.colocation.job import Tick
from aferir.colocation.metrics import Totals, mode
from aferir.colocation.settings import ServiceState, Settings, State
from aferir.linux import journal
from aferir.linux.journal import Entry
from aferir.model.units import format_duration


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """State of one running co-location when its controller last wrote it to the status file."""

    id: str
    """ID of its journal entry."""
    pid: int
    """Process ID of its controller."""
    service: str
    """Specifications of its services, separated by commas."""
    state: State
    now: Settings
    totals: Totals
    mode: str
    sentence: str = ""


def path(identifier: str) -> Path:
    """Path of the file with a run's status."""
    return remembered.path(identifier).with_suffix(".status")


def write(entry: Entry, service: str, tick: Tick, totals: Totals) -> None:
    """Replace the file with the run's status."""
    status = Status(
        id=entry.id,
        pid=entry.owner_pid,
        service=service,
        state=tick.state,
        now=tick.now,
        totals=totals,
        mode=mode(tick.now),
    )
    target = path(entry.id)
    temporary = target.with_suffix(".status-writing")
    temporary.write_bytes(msgspec.msgpack.encode(status))
    temporary.replace(target)


def running(now_s: float | None = None) -> Iterator[Status]:
    """Status of every co-location that runs, with its sentence.

    `now_s`: time in seconds on the monotonic clock; None: now.
    """
    clock_s = time.monotonic() if now_s is None else now_s
    for entry in journal.entries():
        if entry.kind != remembered.KIND or not journal.owner_lives(entry):
            continue
        try:
            found = msgspec.msgpack.decode(path(entry.id).read_bytes(), type=Status)
        except (OSError, msgspec.DecodeError):  # it has not decided yet
            continue
        yield msgspec.structs.replace(found, sentence=sentence(found, clock_s))


def sentence(status: Status, now_s: float) -> str:
    """Mode, service level and last change in plain English."""
    told = status.now.explanation
    words = [f"{status.service}: {batch_words(status.now)}", service_words(status.now)]
    several = bool(status.state.services)
    words += [_level(one, named=several) for one in status.state.each]
    if told.why:
        ago = max(0.0, now_s - told.since_s)
        words.append(f"last change {ago:.0f} s ago because {told.why}")
    return "; ".join(filter(None, words))


def _level(one: ServiceState, *, named: bool) -> str:
    """Describe in words a service's quantile beside its bound; `named`: with the service's name."""
    level = f"p{100 * one.sla.quantile:g}" + (f" of {one.name}" if named else "")
    if one.latency is None:
        return f"{level} is unknown"
    now, bound = format_duration(one.latency.quantile_s), format_duration(one.sla.bound_s)
    return f"{level} is {now} of {bound}"


def batch_words(now: Settings) -> str:
    """Describe in words what the batch program may use."""
    batch = now.batch
    if batch.suspended:
        return "batch is suspended"
    if batch.idle:
        first = "batch runs in an idle group"
    elif batch.policy == "idle":
        first = "batch runs under SCHED_IDLE"
    else:
        first = f"batch runs with weight {batch.weight}"
    return ", ".join([first, *_limits(now)])


def _limits(now: Settings) -> Iterator[str]:
    """Describe each limit of the batch program beside its rank."""
    batch = now.batch
    if batch.quota_cpus is not None:
        yield f"at most {batch.quota_cpus:g} CPUs"
    if batch.cpus:
        yield f"on CPUs {', '.join(map(str, batch.cpus))}"
    if batch.memory_high_bytes is not None:
        yield f"at most {batch.memory_high_bytes / 2**20:.0f} MiB of memory"
    if batch.disk_weight is not None:
        yield f"weight {batch.disk_weight} for disks"
    if now.disk_target_s is not None:
        yield f"throttled if disks take others {1e3 * now.disk_target_s:g} ms"
    if batch.disk_bps is not None:
        yield f"at most {batch.disk_bps / 1e6:.1f} MB/s of disks"
    if batch.cache_percent is not None:
        yield f"at most {batch.cache_percent} % of the caches"


def service_words(now: Settings) -> str:
    """Describe in words how the service is scheduled."""
    reserved = [s.runtime_s / s.period_s for s in now.threads.values() if s.policy == "deadline"]
    if reserved:
        return f"workers have reservations of {max(reserved):.2g}"
    given = [*now.threads.values(), *([now.service] if now.service else [])]
    if any(schedule.policy == "fifo" for schedule in given):
        return "service runs under SCHED_FIFO"
    nices = {schedule.nice for schedule in given if schedule.policy == "other"}
    return f"service runs at nice {min(nices)}" if nices - {0} else ""
