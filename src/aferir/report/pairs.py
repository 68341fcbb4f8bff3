"""Ratio of the durations of two cells of a run."""

from __future__ import annotations

from aferir.report.model import CellResult
from aferir.statistics.ratio import Ratio, paired_ratio, unpaired_ratio


def duration_ratio(cell: CellResult, baseline: CellResult, *, level: float) -> Ratio:
    """Ratio of durations, paired by round; unpaired if failures left too few common rounds."""
    above = {point.repetition: point.value for point in cell.points}
    below = {point.repetition: point.value for point in baseline.points}
    common = [k for k in above if k in below]
    if len(common) >= min(2, len(above), len(below)):
        return paired_ratio([above[k] for k in common], [below[k] for k in common], level=level)
    return unpaired_ratio(list(above.values()), list(below.values()), level=level)
