"""Settings that keep balance-rr from causing retransmissions, and the search for such settings.

Packets distributed over several links overtake each other. TCP takes a segment for lost if later
ones have arrived for longer than its reordering window, and retransmits it in vain. Most reordering
is not caused by packets: TCP passes segments of up to 64 KiB (TSO) to a bond, which distributes
them whole, so that one link gets 40 packets in a row and the next one 3. With segmentation offload
off on the bond itself, packets are distributed one by one and arrive nearly in order; RACK (RFC
8985) tolerates the rest. The price is CPU time of the sender.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from aferir.aggregation.measure import Result
from aferir.model.network import Bonding, Setting, Tuning

_REORDERING = Setting("net.ipv4.tcp_reordering", "127")
_NO_THRESHOLD = Setting("net.ipv4.tcp_recovery", "5")

ROUND_ROBIN = Tuning(bond_offloads=False)
"""Settings for hosts with a balance-rr bond; `python -m benchmarks network` measures the gain."""

_ENOUGH = 0.98
"""Smallest throughput of a candidate, as a share of the best one so far: with less it is rejected,
even if it has few retransmissions.
"""


class Candidate(msgspec.Struct, frozen=True):
    """Settings with which the search runs balance-rr."""

    name: str
    method: Bonding
    tuning: Tuning


class Trial(msgspec.Struct, frozen=True):
    """A candidate, and the result of a measurement with it."""

    candidate: Candidate
    result: Result


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the search, compared with the initial state."""

    before: Trial
    after: Trial
    trials: tuple[Trial, ...]

    @property
    def retransmissions(self) -> float:
        """Retransmissions per segment sent, after divided by before; 1 if none before."""
        before = share(self.before.result)
        return share(self.after.result) / before if before > 0 else 1.0

    @property
    def throughput(self) -> float:
        """Throughput after the search divided by throughput before."""
        return self.after.result.throughput_bps / self.before.result.throughput_bps


def share(result: Result) -> float:
    """Share of the sent segments that were retransmitted."""
    return result.retransmitted_segments / max(result.sent_segments, 1)


def candidates(base: Tuning) -> tuple[Candidate, ...]:
    """Single changes to try, by their names."""
    usual = Bonding(mode="balance-rr")

    def with_settings(name: str, *chosen: Setting) -> Candidate:
        return Candidate(name, usual, add(base, Tuning(settings=chosen)))

    return (
        Candidate(
            "segmentation off on the bond",
            usual,
            msgspec.structs.replace(base, bond_offloads=False),
        ),
        with_settings("tcp_reordering=127", _REORDERING),
        with_settings("tcp_recovery=5", _NO_THRESHOLD),
        with_settings("tcp_recovery=0", Setting("net.ipv4.tcp_recovery", "0")),
        Candidate("packets_per_slave=4", Bonding(mode="balance-rr", packets_per_slave=4), base),
        Candidate("offloads on of links", usual, msgspec.structs.replace(base, offloads=True)),
        Candidate("queues of 60 ms", usual, msgspec.structs.replace(base, queue_s=0.06)),
    )


def add(one: Tuning, other: Tuning) -> Tuning:
    """Combine two tunings; if they conflict, the settings of `other` apply."""
    settings = {setting.name: setting for setting in (*one.settings, *other.settings)}
    return Tuning(
        settings=tuple(settings.values()),
        offloads=one.offloads or other.offloads,
        bond_offloads=one.bond_offloads and other.bond_offloads,
        queue_s=max(one.queue_s, other.queue_s),
    )


def search(
    run: Callable[[Candidate], Result], note: Callable[[str], None], base: Tuning | None = None
) -> Gain:
    """Try each change alone; then combine greedily the changes that helped, the best first."""
    start = Candidate("as it is", Bonding(mode="balance-rr"), base or Tuning())
    trials = []

    def tried(candidate: Candidate) -> Trial:
        note(candidate.name)
        trial = Trial(candidate, run(candidate))
        trials.append(trial)
        return trial

    before = best = tried(start)
    alone = [tried(candidate) for candidate in candidates(start.tuning)]
    helped = sorted((t for t in alone if better(t, before)), key=lambda t: share(t.result))
    for trial in helped:
        if best is before:
            best = trial
            continue
        both = tried(together(best.candidate, trial.candidate))
        if better(both, best):
            best = both
    return Gain(before=before, after=best, trials=tuple(trials))


def together(one: Candidate, other: Candidate) -> Candidate:
    """Return the candidate with the changes of both."""
    packets = max(one.method.packets_per_slave, other.method.packets_per_slave)
    method = msgspec.structs.replace(one.method, packets_per_slave=packets)
    return Candidate(f"{one.name}, {other.name}", method, add(one.tuning, other.tuning))


def better(trial: Trial, than: Trial) -> bool:
    """Whether retransmissions are fewer at a throughput that is equal within 2 %."""
    kept = trial.result.throughput_bps >= _ENOUGH * than.result.throughput_bps
    return kept and share(trial.result) < share(than.result)
