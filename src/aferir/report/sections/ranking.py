"""Section that ranks environments over all groups; for a wide run also by outcomes."""

from __future__ import annotations

from aferir.report.blocks import Field, Named, Paragraph, Section, Subject, Table
from aferir.report.formatting import NOTHING, change, percent
from aferir.report.model import Evaluation, Rank
from aferir.report.opening import too_long
from aferir.report.overview import overview
from aferir.statistics.verdict import Outcome

_COUNTED: dict[Outcome, str] = {
    "higher": "slower",
    "lower": "faster",
    "stalls": "stalls differ",
    "equivalent": "no difference",
    "alike": "typically alike",
    "undecided": "undecided",
    "unknown": "not judged",
}


def section(subject: Subject) -> Section | None:
    """The section, if at least two environments have results."""
    evaluation = subject.evaluation
    if len(evaluation.ranking) < 2:
        return None
    columns, counts = _counts(evaluation)
    header = (
        *("place", "environment"),
        f"duration over {evaluation.baseline} [{percent(evaluation.rule.level)} interval]",
        *columns,
        *("groups", "fastest in"),
    )
    rows = tuple(
        (
            *(places(rank), Named(rank.environment, rank.emulated)),
            "baseline" if rank.baseline else change(rank.ratio, rank.interval),
            *counts.get(rank.environment, (NOTHING,) * len(columns)),
            *(f"{rank.groups} of {rank.of}", fastest_in(rank)),
        )
        for rank in evaluation.ranking
    )
    return Section(
        title="Ranking",
        blocks=(
            Table(header, rows),
            Paragraph(
                "Geometric mean over groups of what a typical repetition takes, each group "
                "counting alike; the cost of stalls is not in it. Environments whose intervals "
                "overlap share their places: the order between them is open.",
                quiet=True,
            ),
        ),
    )


def places(rank: Rank) -> str:
    """Text such as `2`, or `1 to 2` if the intervals leave the order open."""
    if rank.best_place == rank.worst_place:
        return str(rank.best_place)
    return f"{rank.best_place} to {rank.worst_place}"


def fastest_in(rank: Rank) -> str:
    """Text such as `3 of 8`: groups in which the environment is fastest, of the contested ones."""
    return f"{rank.won} of {rank.contested}" if rank.contested else NOTHING


def _counts(evaluation: Evaluation) -> tuple[tuple[str, ...], dict[str, tuple[Field, ...]]]:
    """Headers of the columns that count outcomes and failures, and the fields by environment.

    Both are empty for a run that is small enough for its outcomes to be sentences.
    """
    if not too_long(evaluation):
        return (), {}
    seen = overview(evaluation)
    outcomes = [outcome for outcome in _COUNTED if seen.outcomes.get(outcome)]
    return (*(_COUNTED[outcome] for outcome in outcomes), "failed repetitions"), {
        one.environment: (
            *(str(one.outcomes.get(o, 0)) if one.outcomes else NOTHING for o in outcomes),
            str(one.failed),
        )
        for one in seen.environments
    }
