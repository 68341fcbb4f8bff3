"""Groups the findings of a machine for people: one line for what works, each remedy once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from aferir.machine import packages
from aferir.model.finding import Finding, Status

FIRST_KINDS = ("native", "container", "vm")
FIRST_PROGRAMS = ("npb", "memory-bandwidth")
"""Programs and environments of experiments/this-machine.toml, which `make run` runs."""
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "run": (*FIRST_KINDS, *FIRST_PROGRAMS),
    "hpc": (
        *("npb", "npb-mpi", "npb-reference", "memory-bandwidth", "peak-flops", "ocean"),
        *("effective-bandwidth", "lattice-boltzmann", "cluster"),
    ),
    "network": ("net-sweep", "net-sweep-mpi", "netpipe", "iperf3", "aggregation"),
    "clock": ("clock", "mpi-clock"),
    "io": (
        *("checkpoint", "dedup", "index", "wordcount", "blast", "hbase", "key-value"),
        *("oltp", "oltp-sysbench"),
    ),
    "elastic": ("elastic-allocation", "elastic-capacity", "elastic-load", "elastic-movie", "cloud"),
    "colocation": ("colocation",),
}
"""Subjects of findings, by the chapter of the documentation that they belong to."""


class Section(msgspec.Struct, frozen=True):
    """Findings that are printed under one heading."""

    title: str
    findings: tuple[Finding, ...]


class Line(msgspec.Struct, frozen=True):
    """Findings that are printed as one line."""

    status: Status
    subjects: tuple[str, ...]
    message: str = ""
    remedy: str = ""


def sections(
    machine: Iterable[Finding],
    kinds: Mapping[str, Iterable[Finding]],
    programs: Mapping[str, Iterable[Finding]],
) -> list[Section]:
    """Sections: what the first run needs comes first; repeated findings are printed once."""
    first = [
        *machine,
        *(one for name in FIRST_KINDS for one in kinds.get(name, ())),
        *(one for name in FIRST_PROGRAMS for one in programs.get(name, ())),
    ]
    others = [one for name, found in kinds.items() if name not in FIRST_KINDS for one in found]
    rest = [one for name, found in programs.items() if name not in FIRST_PROGRAMS for one in found]
    said: set[Finding] = set()
    made = []
    for title, found in (
        ("This machine, and what `make run` needs", first),
        ("Other environments", others),
        ("Other programs", rest),
    ):
        fresh = tuple(dict.fromkeys(one for one in found if one not in said))
        said.update(fresh)
        made.append(Section(title, fresh))
    return made


def lines(findings: Sequence[Finding], *, every: bool = False) -> list[Line]:
    """One line for each finding; unless `every` is set, related findings share a line.

    All that works is one line. Of the rest, findings with the same subject share a line, and so do
    those with the same remedy.
    """
    if every:
        return [Line(one.status, (one.subject,), one.message, one.remedy) for one in findings]
    wrong = [one for one in findings if one.status != "ok"]
    troubled = {one.subject for one in wrong}
    well = dict.fromkeys(one.subject for one in findings if one.subject not in troubled)
    by_remedy: dict[tuple[Status, str], list[Finding]] = {}
    for one in wrong:
        key = one.subject if packages.named_in(one.remedy) else one.remedy or one.subject
        by_remedy.setdefault((one.status, key), []).append(one)
    found = [Line("ok", tuple(well))] if well else []
    return found + [_joined(status, group) for (status, _), group in by_remedy.items()]


def to_install(findings: Iterable[Finding], chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """Debian packages in the remedies of all findings, or of selected chapters and subjects."""
    wanted = {subject for name in chosen for subject in CHAPTERS.get(name, (name,))}
    names = {
        package
        for one in findings
        if one.status != "ok" and (not chosen or one.subject in wanted)
        for package in packages.named_in(one.remedy)
    }
    return tuple(sorted(names))


def _joined(status: Status, findings: Sequence[Finding]) -> Line:
    subjects = tuple(dict.fromkeys(one.subject for one in findings))
    messages = tuple(dict.fromkeys(one.message for one in findings))
    remedies = tuple(dict.fromkeys(one.remedy for one in findings if one.remedy))
    names = to_install(findings)
    remedy = packages.install_command(names) if len(remedies) > 1 and names else "; ".join(remedies)
    return Line(status, subjects, "; ".join(messages), remedy)
