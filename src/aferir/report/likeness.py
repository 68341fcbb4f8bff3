"""Decides whether cells of different runs are the same work, and lists other differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aferir.model.plan import EnvironmentSpec, Plan
from aferir.model.provenance import Provenance
from aferir.report.formatting import listing, quantity
from aferir.report.model import CellResult

_MACHINE = {
    "host_name": "host",
    "cpu_model": "processor",
    "cpus": "CPUs",
    "memory_bytes": "memory",
    "kernel": "kernel of the host",
    "distribution": "distribution",
    "virtualisation": "virtualisation",
    "frequency_governor": "frequency governor",
}
_NEARLY = 0.01
"""Relative difference of memory below which two machines count as equal: the memory that the kernel
reserves varies from boot to boot.
"""


def unlike(before: CellResult, after: CellResult) -> tuple[str, ...]:
    """Reasons why two cells cannot be compared: other programs, parameters or kinds."""
    found = []
    if before.program != after.program:
        found.append(f"program {before.program} against {after.program}")
    names = dict.fromkeys([*before.parameters, *after.parameters])
    for name in names:
        one, other = before.parameters.get(name), after.parameters.get(name)
        if one != other:
            found.append(f"{name} {_shown(one)} against {_shown(other)}")
    if before.kind != after.kind:
        found.append(f"kind {before.kind} against {after.kind}")
    return tuple(found)


def other_conditions(
    firsts: Sequence[tuple[Plan, Provenance]], seconds: Sequence[tuple[Plan, Provenance]]
) -> tuple[str, ...]:
    """Sentences about differences of machines, versions and environments between the sides."""
    found = []
    one, other = ([_machine(p) for _, p in side] for side in (firsts, seconds))
    for key, name in _MACHINE.items():
        a, b = ({_shown_fact(key, m.get(key)) for m in side} for side in (one, other))
        if a != b and not _near(key, one, other):
            found.append(f"{name} {_either(a)} against {_either(b)}")
    versions = [{p.version for _, p in side} for side in (firsts, seconds)]
    if versions[0] != versions[1]:
        found.append(f"aferir {_either(versions[0])} against {_either(versions[1])}")
    said = [f"The runs differ in more than time: {'; '.join(found)}."] if found else []
    return (*said, *_environments(firsts[0][0], seconds[0][0]))


def _environments(first: Plan, second: Plan) -> list[str]:
    later = {spec.name: spec for spec in second.environments}
    return [
        f"{spec.name} is another environment: {listing(parts)}."
        for spec in first.environments
        if spec.name in later and (parts := _differences(spec, later[spec.name]))
    ]


def _differences(a: EnvironmentSpec, b: EnvironmentSpec) -> list[str]:
    return [
        f"{field.replace('_', ' ')} {_shown(getattr(a, field))} against {_shown(getattr(b, field))}"
        for field in EnvironmentSpec.__struct_fields__
        if field != "kind"
        and getattr(a, field) != getattr(b, field)
        and not (field == "memory_bytes" and _close(a.memory_bytes, b.memory_bytes))
    ]


def _machine(provenance: Provenance) -> Mapping[str, Any]:
    found = provenance.facts.get("machine", {})
    return found if isinstance(found, dict) else {}


def _near(key: str, one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    if key != "memory_bytes":
        return False
    sizes = [m.get(key) or 0 for m in (*one, *other)]
    return all(isinstance(s, int | float) for s in sizes) and _close(min(sizes), max(sizes))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _NEARLY * max(a, b)


def _shown(value: object) -> str:
    if value is None or value in {"", ()}:
        return "none"
    return str(value)


def _shown_fact(key: str, value: object) -> str:
    if key == "memory_bytes" and isinstance(value, int | float):
        return quantity(float(value), "B")
    return _shown(value)


def _either(values: set[str]) -> str:
    return " or ".join(sorted(values))
