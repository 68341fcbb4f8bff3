"""Samples the load of each core while a program runs, on the host and in guests."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

import msgspec

from aferir.environments.base import Accounting, Instance
from aferir.linux import affinity, process, steady
from aferir.measuring.snapshots import read_host
from aferir.model.record import Sample, Series
from aferir.model.stamps import Stamp
from aferir.probes import load
from aferir.probes.load import Look, Used
from aferir.statistics.fairness import jain

_GUEST_PERIOD_S = 1.0
"""Shortest sampling period in guests, in s: sampling costs an emulated guest far more CPU time."""
_GUEST = 'while :; do cat /proc/uptime; grep ^cpu /proc/stat; echo; sleep "$1"; done'


class Found:
    """Samples and series of the load, available once the program has ended."""

    samples: tuple[Sample, ...] = ()
    series: tuple[Series, ...] = ()


@contextmanager
def sampled(period_s: float | None, instance: Instance) -> Iterator[Found]:
    """Sample the load every `period_s` within the block, and at its start and end."""
    found = Found()
    if period_s is None:
        yield found
        return
    guests = _start_guests(instance, max(period_s, _GUEST_PERIOD_S))
    looks = [_look(instance.accounting, 0.0)]
    began = Stamp(steady.unix_ns())
    ended = threading.Event()

    def elapsed_s() -> float:
        return (steady.unix_ns() - began.unix_ns) / 1e9

    def watch() -> None:
        for number in range(1, 10**9):
            if ended.wait(max(0.0, number * period_s - elapsed_s())):
                return
            looks.append(_look(instance.accounting, elapsed_s()))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        ended.set()
        watching.join()
        last_s = elapsed_s()
        said = {name: _end(child) for name, child in guests.items()}
    looks.append(_look(instance.accounting, last_s))
    cpus = instance.spec.pin or affinity.host_cpus()
    found.samples, series = summarise(looks, cpus, period_s)
    found.series = tuple(msgspec.structs.replace(one, began=began) for one in series)
    for name, text in said.items():
        found.series += tuple(_of_guest(name, text))


def summarise(
    looks: Sequence[Look], cpus: Sequence[int], period_s: float
) -> tuple[tuple[Sample, ...], tuple[Series, ...]]:
    """Mean load, balance among cores and fairness among members, and series of load over time.

    A last interval shorter than half a period is merged with the one before: the kernel's ticks of
    10 ms are too coarse for it.
    """
    even = list(looks)
    if len(even) > 2 and even[-1].time_s - even[-2].time_s < period_s / 2:
        del even[-2]
    series = (
        *load.core_loads(even, cpus),
        *load.member_loads(even),
        *load.core_shares(looks, cpus),
    )
    means = load.mean_loads(looks, cpus)
    shares = load.shares(looks)
    samples = []
    if means:
        samples.append(Sample("core_load_percent", fmean(means.values()), "%", "host"))
    if len(means) > 1 and (balance := jain(list(means.values()))) is not None:
        samples.append(Sample("core_balance", balance, "1", "host"))
    if len(shares) > 1 and (fairness := jain(list(shares.values()))) is not None:
        samples.append(Sample("cpu_fairness", fairness, "1", "host"))
    return tuple(samples), series


def _look(accounting: Accounting, time_s: float) -> Look:
    cores = load.core_ticks(read_host(load.HOST, accounting).get(load.HOST[0], ""))
    members = {name: _used(own) for name, own in _members(accounting).items()}
    known = {name: used for name, used in members.items() if used is not None}
    return Look(time_s, cores, known)


def _members(accounting: Accounting) -> dict[str, Accounting]:
    if accounting.members:
        return accounting.members
    alone = accounting.cgroups or accounting.processes
    return {"instance": accounting} if alone else {}


def _used(accounting: Accounting) -> Used | None:
    """CPU time that an instance or tenant has used; for a cluster, the sum over its nodes."""
    if accounting.members and not (accounting.cgroups or accounting.processes):
        return load.together([_used(own) for own in accounting.members.values()])
    return load.used(read_host(load.MEMBER, accounting))


def _start_guests(instance: Instance, period_s: float) -> dict[str, subprocess.Popen[str]]:
    lines = instance.accounting.entering(["sh", "-c", _GUEST, "sh", str(period_s)])
    return {name: process.start(line, stdout=subprocess.PIPE) for name, line in lines.items()}


def _end(child: subprocess.Popen[str]) -> str:
    """End the process and read its output: some hundred samples, which fit in a pipe's buffer."""
    child.terminate()
    said, _ = child.communicate()
    return said


def _of_guest(name: str, text: str) -> list[Series]:
    """Load of a guest's own CPUs by the guest's clock, which starts at its first sample."""
    looks = []
    for part in text.split("\n\n")[:-1]:  # the last one may be cut
        head, _, rest = part.partition("\n")
        if cores := load.core_ticks(rest):
            looks.append((float(head.split()[0]), cores))
    if len(looks) < 2:
        return []
    even = [Look(at - looks[0][0], cores) for at, cores in looks]
    return load.core_loads(even, sorted(even[0].cores), label=f"{name}'s CPU")
