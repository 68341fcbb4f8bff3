"""Section with the places at which curves cross, e.g. the message size from which links pay."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Section, Subject, Table
from aferir.report.crossings import Crossed, crossed
from aferir.report.formatting import metric_name, quantity

MOST_OPEN = 12
"""Number of pairs of curves above which the table is folded."""
_HEADER = ("group", "environment", "figure", "along", "compared", "crosses between", "then")


def section(subject: Subject) -> Section | None:
    """The section, if any two curves cross."""
    found = crossed(subject.evaluation)
    if not found:
        return None
    rows = tuple(row for one in found for row in _rows(one))
    return Section(
        title="Where curves cross",
        blocks=(
            Paragraph(
                "Curves over sizes that differ in one thing alone, against the first environment "
                "or the first level of that factor. Between the two places the quartiles of both "
                "overlap, or nothing was measured; with few repetitions they cross by noise, too.",
                quiet=True,
            ),
            Table(_HEADER, rows),
        ),
        folded=f"{len(found)} pairs of curves" if len(found) > MOST_OPEN else "",
    )


def _rows(one: Crossed) -> tuple[tuple[Field, ...], ...]:
    """One row for each crossing of the pair."""
    family, curve = one.family, one.curve
    figure = metric_name(family.metric) + (f", {curve.label}" if curve.label else "")
    return tuple(
        (
            family.title,
            Named(curve.environment, curve.emulated),
            figure,
            metric_name(family.along),
            f"{one.differs}: {one.first} with {one.second}",
            " and ".join(quantity(at, family.along_unit) for at in (each.after, each.before)),
            f"{one.first} is {'higher' if each.higher else 'lower'}",
        )
        for each in one.at
    )
