"""Run a bench of several parts one after another, because they would disturb each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from aferir.errors import UsageError
from aferir.model.bench import BenchResult, Figure
from aferir.selftest.options import BenchOptions, Note

Part = Callable[[BenchOptions, Note], Sequence[Figure]]


def run_parts(
    bench: str, parts: Mapping[str, Part], options: BenchOptions, note: Note
) -> BenchResult:
    """Run all parts, or those that `--only` names by a prefix or by a case (`PART.CASE`).

    Each gets an equal share of the progress that is shown. Errors: UsageError if there is no
    such part.
    """
    chosen = [
        part
        for name, part in parts.items()
        if not options.only or any(map(partial(_is_of, name), options.only))
    ]
    if not chosen:
        raise UsageError(
            f"--only {' '.join(options.only)}: there is no such part of the bench {bench}",
            remedy=f"one of: {', '.join(parts)}",
        )
    figures: list[Figure] = []
    for place, part in enumerate(chosen):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(chosen))

        figures.extend(part(options, within))
    return BenchResult(bench=bench, quick=options.quick, figures=tuple(figures))


def _is_of(part: str, wish: str) -> bool:
    return part.startswith(wish) or wish.startswith(f"{part}.")
