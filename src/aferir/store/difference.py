"""Decides whether two plans are the same experiment, and finds their first difference. Pure.

Differences that affect no measurement are permitted: titles, the time limit of the run, and up to 1
% of memory, which varies with the kernel and with balloon drivers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from aferir.model.plan import Plan

_MEMORY_PERCENT = 1.0
_FREE = ("title", "time_limit_s", "metric")


def difference(kept: Mapping[str, Any], wanted: Plan) -> str:
    """First relevant difference, as `what was A and is B`; empty: the same experiment.

    `kept`: the plan as read from a run folder's JSON, in which each environment has every key that
    any kind of environment has.
    """
    new = msgspec.to_builtins(wanted)
    sizes = {spec["name"]: spec["memory_bytes"] for spec in kept["environments"]}
    return next(_differences(_essence(kept, {}), _essence(new, sizes), ()), "")


def carried_over(earlier: Plan, wanted: Plan) -> Plan:
    """Plan to continue a run with: the wanted plan, with the memory sizes of the earlier one."""
    sizes = {spec.name: spec.memory_bytes for spec in earlier.environments}
    environments = tuple(
        msgspec.structs.replace(spec, memory_bytes=sizes.get(spec.name, spec.memory_bytes))
        for spec in wanted.environments
    )
    return msgspec.structs.replace(wanted, environments=environments)


def _essence(plan: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Parts of a plan that must not differ; memory close to that in `sizes` is set to it."""
    environments = [
        {**spec, "memory_bytes": _nearly(spec["memory_bytes"], sizes.get(spec["name"]))}
        for spec in plan["environments"]
    ]
    rest = {key: value for key, value in plan.items() if key not in _FREE}
    return {**rest, "environments": environments}


def _nearly(memory_bytes: int, size: int | None) -> int:
    if size is None or abs(memory_bytes - size) > size * _MEMORY_PERCENT / 100:
        return memory_bytes
    return size


def _differences(old: object, new: object, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), (*path, str(key)))
    elif _is_list(old) and _is_list(new):
        ours, theirs = _named(old), _named(new)
        for name in dict.fromkeys([*ours, *theirs]):
            yield from _differences(ours.get(name), theirs.get(name), (*path, name))
        if list(ours) != list(theirs):
            yield f"the order of {'.'.join(path)} is another"
    elif old != new:
        yield f"{'.'.join(path)} was {_shown(old)} and is {_shown(new)}"


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _named(items: object) -> dict[str, object]:
    """Members of a list by their `id`, or else their `name`, or else their position."""
    assert isinstance(items, Sequence)
    return {
        str((item.get("id") or item.get("name")) if isinstance(item, Mapping) else place): item
        for place, item in enumerate(items)
    }


def _shown(value: object) -> str:
    if value is None:
        return "not there"
    return "something else" if isinstance(value, Mapping) or _is_list(value) else str(value)
