"""A fleet: groups of hosts that should be alike, and which of them differs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from aferir.errors import ProgramError
from aferir.model.plan import Plan
from aferir.model.record import Failure, Record
from aferir.statistics import peers
from aferir.statistics.peers import Standing

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = (*_NUMBERS, "eleven", "twelve")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts of one kind: with the same processor model and number of CPUs."""

    kind: str
    rounds: int
    """Number of rounds in which every host has a figure."""
    medians: dict[str, float]
    standings: tuple[Standing, ...]
    """Standings of the hosts, the fastest or the one with the smallest value first."""
    detectable: float | None = None
    """Smallest relative difference of one host that would be reported in nine of ten such runs;
    None if no host can be.
    """
    note: str = ""
    """Reason why no host can be reported; else empty."""


def values_of(plan: Plan, records: Iterable[Record], metric: str) -> dict[str, dict[int, float]]:
    """Values by host and repetition. Errors: ProgramError if no host has that metric."""
    hosts = {spec.name: spec.host for spec in plan.environments}
    found: dict[str, dict[int, float]] = {}
    failed: Failure | None = None
    for record in records:
        failed = failed or record.failure
        if record.warmup or record.failure is not None:
            continue
        for sample in record.samples:
            if sample.metric == metric and sample.value > 0.0:
                found.setdefault(hosts[record.environment], {})[record.repetition] = sample.value
    if not found and failed is not None:
        raise ProgramError(f"no host ran the command: {failed.message}", remedy=failed.remedy)
    if not found:
        raise ProgramError(
            f"no host gave a positive {metric}",
            remedy="see the run with `aferir report`; --metric names another figure",
        )
    return found


def groups(
    values: Mapping[str, Mapping[int, float]], kinds: Mapping[str, str], *, alpha: float = 0.05
) -> tuple[Group, ...]:
    """Hosts grouped by kind; hosts of different kinds are not compared."""
    by_kind: dict[str, list[str]] = {}
    for host in values:
        by_kind.setdefault(kinds.get(host, ""), []).append(host)
    return tuple(_group(kind, {h: values[h] for h in of}, alpha) for kind, of in by_kind.items())


def _group(kind: str, values: Mapping[str, Mapping[int, float]], alpha: float) -> Group:
    shared = sorted(set[int].intersection(*(set(one) for one in values.values())))
    rows = {host: [one[turn] for turn in shared] for host, one in values.items()}
    medians = {host: sorted(one.values())[len(one) // 2] for host, one in values.items()}
    note = ""
    found: tuple[Standing, ...] = ()
    detectable = None
    if len(shared) < peers.LEAST_ROUNDS:
        note = f"{len(shared)} rounds are too few to say which one differs"
    else:
        found = peers.standings(rows, alpha=alpha)
        detectable = peers.detectable(rows, alpha=alpha)
        if len(rows) < peers.LEAST:
            note = f"of {_number(len(rows))} alike nobody can say which one differs"
    return Group(
        kind=kind,
        rounds=len(shared),
        medians=medians,
        standings=found,
        detectable=detectable,
        note=note,
    )


def precise(groups: Sequence[Group], difference: float) -> bool:
    """True if a host that differs by this share would be reported in every group."""
    known = [one.detectable for one in groups if not one.note]
    return bool(known) and all(one is not None and one <= difference for one in known)


def sentences(found: Sequence[Group], metric: str) -> list[str]:
    """Sentences about the fleet."""
    said = []
    for group in found:
        named = [one for one in group.standings if one.differs]
        for one in sorted(named, key=lambda one: one.p_value):
            others = len(group.standings) - len(named)
            said.append(_sentence(one, others, metric))
        if not named:
            size = len(group.medians)
            said.append(group.note or f"none of {_number(size)} hosts differs from the others")
        if group.detectable is not None:
            least = f"{100 * group.detectable:.1f} %"
            said.append(
                f"after {group.rounds} rounds, a host that differs by {least} would be found in "
                "nine of ten runs"
            )
    if len(found) > 1:
        said.append(f"{_number(len(found))} kinds of hosts are told apart and not compared")
    return said


def _sentence(one: Standing, others: int, metric: str) -> str:
    percent = abs(one.ratio - 1.0) * 100
    timed = metric == "duration_s"
    word = ("slower" if timed else "more") if one.ratio > 1 else ("faster" if timed else "less")
    what = "" if timed else f" in {metric}"
    assert one.interval is not None
    ends = sorted(abs(end - 1.0) * 100 for end in (one.interval.low, one.interval.high))
    return (
        f"{one.name} is {percent:.1f} % {word}{what} than its {_number(others)} peers "
        f"(interval {ends[0]:.1f} to {ends[1]:.1f} %, p = {one.p_value:.2g})"
    )


def _number(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
