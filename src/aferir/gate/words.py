"""Formats a gate's verdict as sentences. Pure."""

from __future__ import annotations

from aferir.gate.judge import FEWEST, Seen, Verdict
from aferir.report.formatting import change
from aferir.statistics.ratio import at_level


def headline(verdict: Verdict) -> str:
    """Verdict in one sentence."""
    limit = _percent(verdict.limits.at_most)
    figures = f"{interval(verdict)}, {verdict.pairs} pairs"
    worse = "worse" if verdict.metric != "duration_s" else "slower"
    if verdict.answer == "pass":
        return f"Pass: head is not more than {limit} {worse} than base ({figures})."
    if verdict.answer == "slower":
        return f"Failed: head is more than {limit} {worse} than base ({figures})."
    return f"Undecided: head may or may not be more than {limit} {worse} than base ({figures})."


def interval(verdict: Verdict) -> str:
    """The ratio as a change with its 95 % interval."""
    return change(verdict.ratio.estimate, at_level(verdict.ratio, 0.95))


def details(verdict: Verdict, seen: Seen | None, noisy: Seen | None = None) -> list[str]:
    """Sentences with further information for the reader.

    `noisy`: precision that durations would have had; None unless CPU time is judged instead.
    """
    said = []
    if noisy is not None and noisy.visible is not None:
        said.append(
            "Judged by CPU time, which does not include waiting: wall-clock time is so noisy on "
            f"this machine that {verdict.planned} pairs detect only slowdowns of at least "
            f"{_percent(noisy.visible)} beyond the limit."
        )
    if verdict.answer == "undecided":
        said.append(_what_it_takes(verdict))
    said.append(
        f"Of at most {verdict.planned} pairs, {verdict.metric} was tested after {verdict.pairs}"
        f"{_earlier(verdict.looks - 1)}; over all tests a version within the limit fails with a "
        f"probability of at most {_percent(verdict.limits.alpha)}, and one beyond it passes with "
        f"at most {_percent(verdict.limits.beta)}."
    )
    if seen is not None and seen.visible is not None and seen.pairs < FEWEST:
        said.append(
            f"There was time for {seen.pairs} pairs of base beside itself, too few to say what "
            "this machine can detect: raise --time."
        )
    elif seen is not None and seen.visible is not None:
        said.append(
            f"By {seen.pairs} pairs of base beside itself, {verdict.planned} pairs on this machine "
            f"detect a slowdown of {_percent(seen.visible)} beyond the limit in 19 of 20 cases."
        )
    if seen is not None and seen.alarm:
        said.append(
            "Base seemed slower than itself: something on this machine favours one of two "
            "neighbours, so do not trust this answer before it is explained."
        )
    return said


def _earlier(tests: int) -> str:
    """Clause that counts the tests before the last one; empty if there were none."""
    if tests < 1:
        return ""
    return " and once before" if tests == 1 else f" and {tests} times before"


def _what_it_takes(verdict: Verdict) -> str:
    if verdict.ratio.log_error is None:
        return (
            f"The {verdict.pairs} pairs are too few, or too much like their neighbours, to say how "
            "far they scatter: raise --time, or quieten the machine."
        )
    if verdict.needed is None:
        return (
            "The difference is at the limit itself, where no number of pairs decides: choose "
            "another limit."
        )
    more = max(0, verdict.needed - verdict.pairs)
    if more == 0:
        return "About as many pairs again would probably decide: raise --time."
    factor = verdict.needed / max(verdict.pairs, 1)
    if factor > 100:
        return (
            "The difference is so close to the limit that more than a hundred times as many pairs "
            "would be needed: choose another limit."
        )
    return (
        f"It would probably take {more} more pairs, {factor:.1f} times as many in all: raise "
        "--time accordingly, or quieten the machine."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
