"""Parses the output of `io-account`: CPU time by mode, core frequency and block requests."""

from __future__ import annotations

import json

import msgspec

from aferir.model.record import Sample

PROGRAM = "io-account"


class Modes(msgspec.Struct, frozen=True):
    """CPU seconds by mode, estimated from samples."""

    user_s: float = 0.0
    system_s: float = 0.0
    guest_s: float = 0.0
    idle_s: float = 0.0
    looks: int = 0


class Frequency(msgspec.Struct, frozen=True):
    """Cycles per second of a program's CPU time: the core's frequency, reduced by interruptions.

    Averaged over the cores on which the target ran, weighted by time.
    """

    looks: int = 0
    mean_hz: float = 0.0
    least_hz: float = 0.0
    most_hz: float = 0.0


class Cycles(msgspec.Struct, frozen=True):
    """Numbers of cycles that hardware counters counted."""

    user: int
    system: int


class Block(msgspec.Struct, frozen=True):
    """Numbers of requests to block devices, from the tracepoint block:block_rq_issue."""

    reads: int
    writes: int
    others: int


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Output of io-account for one run: processor modes, block requests and frequency."""

    duration_s: float
    cpus: int
    all: Modes | None
    target: Modes | None
    lost: int
    look_cost_s: float
    frequency: Frequency
    cycles: Cycles | None
    block: Block | None
    own_cpu_s: float

    @property
    def cost_share(self) -> float:
        """Share of one core that the measurement itself used.

        It is io-account's own CPU time, plus the time that its samples took from other programs.
        """
        looks = self.all.looks if self.all is not None else 0
        return (self.own_cpu_s + looks * self.look_cost_s) / self.duration_s


def parse(stdout: str) -> Account | None:
    """Parse the last line that `io-account` printed; None if it is anything else."""
    lines = stdout.strip().splitlines()
    try:
        document = json.loads(lines[-1])
        if document.get("program") != PROGRAM or document.get("verified") is not True:
            return None
        return msgspec.convert(document, Account)
    except (ValueError, IndexError, AttributeError, RecursionError):
        return None


def samples(account: Account) -> tuple[Sample, ...]:
    """Samples of the run: frequency, block requests, counted cycles, cost of the measurement."""
    found = []
    if account.frequency.looks:
        found.append(Sample("core_frequency_during_hz", account.frequency.mean_hz, "Hz", "host"))
    if account.block is not None:
        counts = (("read", account.block.reads), ("write", account.block.writes))
        found += [
            Sample(f"issued_{word}_operations", float(count), "operations", "host")
            for word, count in counts
        ]
    if account.cycles is not None:
        found += [
            Sample("counted_user_cycles", float(account.cycles.user), "cycles", "host"),
            Sample("counted_system_cycles", float(account.cycles.system), "cycles", "host"),
        ]
    if account.target is not None and account.target.looks:
        found += [
            Sample("looked_user_s", account.target.user_s, "s", "host"),
            Sample("looked_system_s", account.target.system_s, "s", "host"),
            Sample("looks", float(account.target.looks), "count", "host"),
        ]
    found.append(Sample("watching_cpus", account.cost_share, "CPUs", "host"))
    return tuple(found)
