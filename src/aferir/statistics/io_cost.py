"""Cycles and joules of an I/O operation, with what they are uncertain by (Akram 2012).

An operation is 512 bytes of the volume that is read and written. cpio counts the cycles that a
program and its operating system are busy for, eio what the whole server takes meanwhile: busy
cycles at peak power, idle and waiting ones at idle power. In eio the frequency cancels.
"""

from __future__ import annotations

import math

import msgspec

OPERATION_BYTES = 512


class Uncertain(msgspec.Struct, frozen=True):
    """A value and its standard uncertainty, both in one unit (GUM, JCGM 100:2008)."""

    value: float
    error: float = 0.0

    @property
    def relative(self) -> float:
        """Uncertainty over value; infinite where the value is 0 and uncertain."""
        if self.error == 0:
            return 0.0
        return abs(self.error / self.value) if self.value else math.inf

    def times(self, other: Uncertain) -> Uncertain:
        """Product of two independent values, to first order."""
        error = math.hypot(self.error * other.value, self.value * other.error)
        return Uncertain(self.value * other.value, error)

    def scaled(self, factor: float) -> Uncertain:
        """Times a number that is exact."""
        return Uncertain(self.value * factor, abs(self.error * factor))

    def plus(self, other: Uncertain) -> Uncertain:
        """Sum of two independent values."""
        return Uncertain(self.value + other.value, math.hypot(self.error, other.error))


class CpuTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the cores of a machine spent, of all cores together."""

    user_s: Uncertain
    system_s: Uncertain
    idle_s: Uncertain
    iowait_s: Uncertain
    steal_s: Uncertain = Uncertain(0.0)

    @property
    def busy_s(self) -> Uncertain:
        """User and system together, which tick accounting cannot mistake for one another."""
        return self.user_s.plus(self.system_s)

    @property
    def waiting_s(self) -> Uncertain:
        """Idle and waiting for I/O together."""
        return self.idle_s.plus(self.iowait_s)


class IoCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation costs."""

    user_cycles: Uncertain
    system_cycles: Uncertain
    cpio: Uncertain
    """Busy cycles an operation."""
    eio_j: Uncertain
    emio_j: Uncertain
    """Of a million operations."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server's power and processors."""

    cores: int
    frequency_hz: Uncertain
    """Of a core while it works; not that of the time-stamp counter."""
    peak_w: Uncertain
    """All cores busy, without storage."""
    idle_fraction: float
    """Power of an idle server over its peak power, 0 to 1."""


def operations(volume_bytes: float) -> float:
    """Operations of 512 bytes in a volume that was read and written."""
    return volume_bytes / OPERATION_BYTES


def sampled(seconds: float, total_s: float, tick_hz: float) -> Uncertain:
    """Time in one state as a kernel tells it that looks `tick_hz` times a second what runs.

    `total_s` is the time of all states. Each look is a trial, so the count is binomial; a count of
    none or of all may be wrong by one look.
    """
    looks = total_s * tick_hz
    if looks <= 0:
        return Uncertain(seconds, 0.0)
    share = min(max(seconds / total_s, 0.0), 1.0)
    return Uncertain(seconds, max(math.sqrt(looks * share * (1 - share)), 1.0) / tick_hz)


TICK_HZ = 250.0
"""How often a kernel looks what runs; where CONFIG_HZ is another, only the weights are off."""
_APART = 4.0
"""Standard uncertainties past which two accounts cannot both be true."""


def system_share(
    ticks_s: tuple[float, float], looked_s: tuple[float, float], looks: float
) -> Uncertain | None:
    """System time over user and system time, from (user, system) seconds by ticks and by looks.

    Both are looks at what runs. But a program that sleeps, or whose phases last as long as a few
    ticks, keeps step with the tick: where looks of our own are as many, or the two cannot both be
    true, ours are believed; else they are weighted by how many they are. None where neither saw
    anything.
    """
    known = [
        (system / (user + system), count)
        for (user, system), count in ((ticks_s, sum(ticks_s) * TICK_HZ), (looked_s, looks))
        if user + system > 0 and count > 0
    ]
    if len(known) == 2 and (known[1][1] >= known[0][1] or not _agree(known[0], known[1])):
        known = known[1:]
    if not known:
        return None
    total = sum(count for _, count in known)
    share = sum(value * count for value, count in known) / total
    # One more look of each kind, so that none seen is not taken for none there (Laplace).
    cautious = (share * total + 1) / (total + 2)
    return Uncertain(share, math.sqrt(cautious * (1 - cautious) / total))


def _agree(first: tuple[float, float], second: tuple[float, float]) -> bool:
    count = first[1] + second[1]
    together = (first[0] * first[1] + second[0] * second[1]) / count
    variance = together * (1 - together) * (1 / first[1] + 1 / second[1])
    return abs(first[0] - second[0]) <= _APART * math.sqrt(variance)


def between(before: float, after: float) -> Uncertain:
    """A quantity that was looked at before and after: the mean, and half of what they differ by."""
    return Uncertain((before + after) / 2, abs(after - before) / 2)


def io_cost(cpu: CpuTime, server: Server, count: float) -> IoCost | None:
    """What each of `count` operations cost; None where there were none."""
    if count <= 0:
        return None
    busy = cpu.busy_s
    powered = busy.plus(cpu.waiting_s.scaled(server.idle_fraction))
    energy = powered.times(server.peak_w).scaled(1 / (server.cores * count))
    return IoCost(
        user_cycles=cpu.user_s.times(server.frequency_hz).scaled(1 / count),
        system_cycles=cpu.system_s.times(server.frequency_hz).scaled(1 / count),
        cpio=busy.times(server.frequency_hz).scaled(1 / count),
        eio_j=energy,
        emio_j=energy.scaled(1e6),
    )
