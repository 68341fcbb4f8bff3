"""Writes sentences about metrics whose better direction is declared, and about warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aferir.model.plan import Plan, environment_family
from aferir.model.record import Record, Sample
from aferir.report.formatting import change, quantity
from aferir.statistics.ratio import paired_ratio


def figure_lines(plan: Plan, records: Iterable[Record]) -> list[str]:
    """One line for each metric whose better direction is declared: medians, and the change."""
    found: dict[tuple[str, str], dict[str, dict[int, Sample]]] = {}
    for record in records:
        if record.warmup or record.failure is not None:
            continue
        for sample in record.samples:
            if sample.better:
                arms = found.setdefault((record.group, sample.metric), {})
                arms.setdefault(record.environment, {})[record.repetition] = sample
    return [
        _line(group, metric, arms, _baseline(arms, plan.baseline))
        for (group, metric), arms in found.items()
    ]


def doubt_lines(records: Iterable[Record], codes: Sequence[str]) -> list[str]:
    """One sentence for each warning with one of `codes`, and the environments that raised it."""
    where: dict[str, list[str]] = {}
    for record in records:
        for warning in record.warnings:
            if warning.code in codes:
                names = where.setdefault(f"{warning.message}; {warning.advice}", [])
                if (family := environment_family(record.environment)) not in names:
                    names.append(family)
    return [f"{', '.join(names)}: {text}." for text, names in where.items()]


def _baseline(arms: dict[str, dict[int, Sample]], family: str) -> str:
    return next((name for name in arms if environment_family(name) == family), "")


def _line(group: str, metric: str, arms: dict[str, dict[int, Sample]], baseline: str) -> str:
    said = [_arm(name, values, arms.get(baseline, {})) for name, values in arms.items()]
    better = next(iter(next(iter(arms.values())).values())).better
    return f"{metric} of {group} ({better} is better): {'; '.join(said)}."


def _arm(name: str, values: dict[int, Sample], baseline: dict[int, Sample]) -> str:
    ordered = sorted(sample.value for sample in values.values())
    unit = next(iter(values.values())).unit
    text = f"{name} {quantity(ordered[len(ordered) // 2], unit)}"
    shared = sorted(values.keys() & baseline.keys())
    if values is baseline or not shared:
        return text
    ratio = paired_ratio([values[n].value for n in shared], [baseline[n].value for n in shared])
    return text if ratio.interval is None else f"{text}, {change(ratio.estimate, ratio.interval)}"
