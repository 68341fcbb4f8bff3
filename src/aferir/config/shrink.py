"""Reduces an experiment to fit a machine smaller than the one it was written for.

Only if the file permits it (`shrink = true`), since the figures change; the report lists what
was reduced and what was left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from aferir.config.fields import is_table
from aferir.environments.base import Kind
from aferir.model.plan import HostLimits
from aferir.model.units import format_size, parse_size

Table = Mapping[str, object]
_MOST_MEMORY = 0.75
"""Largest share of the host's memory to request; the rest is left to the host itself."""
_STEP = 2**26


class Shrunk(msgspec.Struct, frozen=True):
    """Document that requests no more than the host has, and its differences from the file."""

    document: Table
    notes: tuple[str, ...] = ()


class _Change(msgspec.Struct, frozen=True):
    """A change in one table; changes with the same words are reported together."""

    name: str
    words: str


def shrink(document: Table, host: HostLimits, kinds: Mapping[str, Kind]) -> Shrunk:
    """Reduce CPUs, threads and memory of environments and workloads, if the file permits it.

    Errors in the document are left in it, for its readers to report.
    """
    experiment = document.get("experiment")
    if not is_table(experiment) or experiment.get("shrink") is not True:
        return Shrunk(document)
    smaller = dict(document)
    notes: list[str] = []
    gone: list[object] = []
    for key, word in (("environment", "environments"), ("workload", "workloads")):
        tables, changes = [], []
        for table in _tables(document, key):
            made, changed = _fitted(table, host, kinds, gone)
            changes += changed
            if made is not None:
                tables.append(made)
            elif is_table(table):
                gone.append(table.get("name"))
        if changes or gone:
            smaller[key] = tables
            notes += _said(word, changes)
    return Shrunk(smaller, tuple(notes))


def _said(word: str, changes: Sequence[_Change]) -> list[str]:
    """Sentences such as `environments native, vm: 1 instead of 2 CPUs`."""
    names: dict[str, list[str]] = {}
    for change in changes:
        names.setdefault(change.words, []).append(change.name)
    return [f"{word} {', '.join(named)}: {words}" for words, named in names.items()]


def _tables(document: Table, key: str) -> Sequence[object]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _fitted(
    table: object, host: HostLimits, kinds: Mapping[str, Kind], gone: Collection[object]
) -> tuple[object | None, list[_Change]]:
    """Reduce a table to what the host has, or to None if that is impossible; returns changes, too.

    An environment is None if its kind needs more memory, a workload if all environments that it
    names are `gone`.
    """
    if not is_table(table):
        return table, []
    smaller, name = dict(table), str(table.get("name"))
    chosen = table.get("environments")
    if isinstance(chosen, list) and (lost := [each for each in chosen if each in gone]):
        if len(lost) == len(chosen):
            return None, [_Change(name, "left out with their environments")]
        smaller["environments"] = [each for each in chosen if each not in gone]
    changes = []
    for key, unit in (("cpus", "CPUs"), ("threads", "threads")):
        number = table.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number > host.most_cpus:
            smaller[key] = host.most_cpus
            changes.append(_Change(name, f"{host.most_cpus} instead of {number} {unit}"))
    memory = _size(table.get("memory"))
    if memory is None or memory <= host.memory_bytes * _MOST_MEMORY:
        return smaller, changes
    size = max(_STEP, host.memory_bytes // 2 // _STEP * _STEP)
    kind = kinds.get(str(table.get("kind")))
    if kind is not None and size < kind.least_memory_bytes:
        return None, [_Change(name, f"left out, {format_size(size)} of memory are too little")]
    smaller["memory"] = f"{size // 2**20} MiB"
    changes.append(_Change(name, f"{format_size(size)} instead of {format_size(memory)} of memory"))
    return smaller, changes


def _size(value: object) -> int | None:
    try:
        return parse_size(value) if isinstance(value, str) else None
    except ValueError:
        return None
