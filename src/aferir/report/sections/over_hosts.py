"""Section with ratios over several hosts, where the host is a factor of environments."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Section, Subject, Table
from aferir.report.formatting import NOTHING, change, percent
from aferir.report.over_hosts import Pooled, pooled

_HEADER = ("group", "environment", "hosts", "over hosts", "hosts differ by", "from", "to")


def section(subject: Subject) -> Section | None:
    """The section, if environments ran on several hosts of one kind beside their baseline."""
    facts = subject.provenance.facts if subject.provenance is not None else {}
    hosts = facts.get("hosts")
    evaluation = subject.evaluation
    found = pooled(
        evaluation.cells,
        hosts if isinstance(hosts, dict) else {},
        level=evaluation.rule.level,
    )
    if len({host for one in found for host in one.ratios}) < 2:
        return None
    kinds = len({one.kind for one in found}) > 1
    told = "Hosts with different processors are in rows of their own. " if kinds else ""
    return Section(
        title="Over hosts",
        blocks=(
            Paragraph(
                f"Duration against {evaluation.baseline} on the same host, over all hosts of a "
                f"kind. {told}The interval is for hosts of that kind: it counts how much hosts "
                "differ, and not the rounds alone. Hosts differ by: standard deviation of their "
                "ratios beyond the errors of these.",
                quiet=True,
            ),
            Table(_HEADER, tuple(_row(one, kinds=kinds) for one in found)),
        ),
    )


def _row(one: Pooled, *, kinds: bool) -> tuple[Field, ...]:
    least, most = (end(one.ratios, key=one.ratios.__getitem__) for end in (min, max))
    between = one.over.between
    names = f"{one.over.hosts} ({one.kind or 'unknown kind'})" if kinds else str(one.over.hosts)
    return (
        one.group,
        Named(one.environment, one.emulated),
        names,
        change(one.over.estimate, one.over.interval),
        NOTHING if between is None else percent(between),
        f"{change(one.ratios[least])} on {least}",
        f"{change(one.ratios[most])} on {most}",
    )
