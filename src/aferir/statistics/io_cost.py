"""Cycles and energy of an I/O operation, with their uncertainties (Akram 2012).

An operation is 512 bytes of the volume that is read and written. `cpio` (cycles per I/O) counts the
cycles in which a program and its operating system are busy. `eio` (energy per I/O) is the energy of
the whole server during the operation: busy cycles at peak power, idle and waiting cycles at idle
power. The frequency cancels in `eio`.
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
        """Uncertainty over value; infinite if the value is 0 and uncertain."""
        if self.error == 0:
            return 0.0
        return abs(self.error / self.value) if self.value else math.inf

    def times(self, other: Uncertain) -> Uncertain:
        """Product of two independent values, with its uncertainty to first order."""
        error = math.hypot(self.error * other.value, self.value * other.error)
        return Uncertain(self.value * other.value, error)

    def scaled(self, factor: float) -> Uncertain:
        """Product of the value and an exact number."""
        return Uncertain(self.value * factor, abs(self.error * factor))

    def plus(self, other: Uncertain) -> Uncertain:
        """Sum of this and another, independent value."""
        return Uncertain(self.value + other.value, math.hypot(self.error, other.error))


class CpuTime(msgspec.Struct, frozen=True, kw_only=True):
    """Time that the cores of a machine spent in each state, summed over all cores, in s."""

    user_s: Uncertain
    system_s: Uncertain
    idle_s: Uncertain
    iowait_s: Uncertain
    steal_s: Uncertain = Uncertain(0.0)

    @property
    def busy_s(self) -> Uncertain:
        """User plus system time: tick accounting may confuse the two, but not their sum."""
        return self.user_s.plus(self.system_s)

    @property
    def waiting_s(self) -> Uncertain:
        """Idle time and time waiting for I/O."""
        return self.idle_s.plus(self.iowait_s)


class IoCost(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one I/O operation."""

    user_cycles: Uncertain
    system_cycles: Uncertain
    cpio: Uncertain
    """Busy cycles of one operation."""
    eio_j: Uncertain
    emio_j: Uncertain
    """Energy of a million operations in J."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server's power and processors."""

    cores: int
    frequency_hz: Uncertain
    """Frequency of a core while it works; not that of the time-stamp counter."""
    peak_w: Uncertain
    """Power with all cores busy, without storage."""
    idle_fraction: float
    """Power of an idle server over its peak power, 0 to 1."""


def operations(volume_bytes: float) -> float:
    """Number of operations of 512 bytes in a volume that was read and written."""
    return volume_bytes / OPERATION_BYTES


def sampled(seconds: float, total_s: float, tick_hz: float) -> Uncertain:
    """Time in one state, with its uncertainty, as a kernel accounts it by sampling at `tick_hz`.

    `total_s` is the time of all states. Each sample is a trial, so the count is binomial; if the
    state has none or all of the samples, its uncertainty is one sample.
    """
    looks = total_s * tick_hz
    if looks <= 0:
        return Uncertain(seconds, 0.0)
    share = min(max(seconds / total_s, 0.0), 1.0)
    return Uncertain(seconds, max(math.sqrt(looks * share * (1 - share)), 1.0) / tick_hz)


TICK_HZ = 250.0
"""Assumed tick frequency of a kernel; if CONFIG_HZ differs, only the weights are slightly off."""
_APART = 4.0
"""Two accounts contradict each other if they differ by more than this many standard uncertainties.
"""


def system_share(
    ticks_s: tuple[float, float], looked_s: tuple[float, float], looks: float
) -> Uncertain | None:
    """System time over the sum of user and system time, from two independent samplings.

    `ticks_s` and `looked_s` are (user, system) in s by the kernel's ticks and by our own `looks`
    samples. A program that sleeps, or whose phases last a few ticks, is synchronous with the
    kernel's tick: our samples replace the ticks if there are at least as many, or if the two
    contradict each other; else both are weighted by their numbers. None if neither has any user or
    system time.
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
    # One more sample of each kind, so that 0 of n does not yield an error of 0 (Laplace).
    cautious = (share * total + 1) / (total + 2)
    return Uncertain(share, math.sqrt(cautious * (1 - cautious) / total))


def _agree(first: tuple[float, float], second: tuple[float, float]) -> bool:
    count = first[1] + second[1]
    together = (first[0] * first[1] + second[0] * second[1]) / count
    variance = together * (1 - together) * (1 / first[1] + 1 / second[1])
    return abs(first[0] - second[0]) <= _APART * math.sqrt(variance)


def between(before: float, after: float) -> Uncertain:
    """Quantity measured before and after: the mean, with half the difference as its uncertainty."""
    return Uncertain((before + after) / 2, abs(after - before) / 2)


def io_cost(cpu: CpuTime, server: Server, count: float) -> IoCost | None:
    """Cost of each of `count` operations; None if `count` is 0."""
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
