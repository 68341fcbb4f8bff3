"""Reads `[[environment]]` tables as their kinds declare them, with factor levels applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from aferir.config.fields import Fields, Name
from aferir.config.problems import Problems
from aferir.config.shorthand import ALIASES
from aferir.environments.base import Kind
from aferir.model.checking import Refused, Wrong, read_value
from aferir.model.parameters import told
from aferir.model.plan import UNASKED, EnvironmentSpec, HostLimits
from aferir.model.units import format_size
from aferir.model.words import choose, printable, shown

MOST_ENVIRONMENTS = 16
COMMON = ("name", "kind")
"""Keys that every table has without declaration by its kind."""
_DEFAULT_MEMORY = 2**30
_SHORT_NAMES = {
    name: f"write {', '.join(f'{key} = {shown(value)}' for key, value in keys.items())}"
    for name, keys in ALIASES.items()
}
"""Remedies for short names that only a command line has."""


class EnvironmentKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that an `[[environment]]` table of any kind may have."""

    name: Annotated[Name, told("each name once")]


class EnvironmentTable(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[environment]]` table with a valid name and kind, as written."""

    path: str
    name: str
    kind: Kind
    table: dict[str, object]
    accounted: bool = False


class Written(msgspec.Struct, frozen=True):
    """Level of a factor, which replaces the value of a key in a table."""

    path: str
    """Path of the level in the file."""
    value: object


_NOTHING: Mapping[str, Written] = {}


def read_table(
    table: Mapping[str, object], path: str, kinds: Mapping[str, Kind], problems: Problems
) -> EnvironmentTable | None:
    """Read the name and the kind of a table; None if either is wrong."""
    fields = Fields(table, path, problems)
    name = fields.read(EnvironmentKeys, tuple(table)).get("name")
    kind = kinds.get(fields.choice("kind", tuple(kinds), 'kind = "native"', _SHORT_NAMES) or "")
    if name is None or kind is None:
        return None
    return EnvironmentTable(path=path, name=name, kind=kind, table=dict(table))


def specification(
    environment: EnvironmentTable,
    levels: Mapping[str, Written] = _NOTHING,
    *,
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> EnvironmentSpec | None:
    """Specification that a table with `levels` applied describes; None if anything is wrong.

    `levels` are by key. Levels are read by the same code as values in the table.
    """
    kind = environment.kind
    host, stranger = _host_of(environment, levels, host)
    known = {field.key: field for field in kind.keys}
    table = environment.table | {key: level.value for key, level in levels.items()}
    values: dict[str, Any] = {}
    wrong: list[Wrong] = []
    for key, written in table.items():
        if key in COMMON:
            continue
        if key not in known:
            wrong.append(_stranger(key, environment, kinds, level=key in levels))
            continue
        try:
            values[known[key].attribute] = read_value(known[key], written)
        except Refused as refused:
            wrong.append(Wrong(key, refused.message, refused.remedy))
    wrong += [stranger] if stranger else _beyond(values, kind, host)
    spec: EnvironmentSpec | None = None
    if not wrong:
        found = _defaults(values, kind, host) | values
        spec = kind.spec(
            name=environment.name, kind=kind.name, accounted=environment.accounted, **found
        )
        wrong += (*spec.conflicts(), *_wrong_spread(spec, kind))
    for one in wrong:
        place = levels[one.key].path if one.key in levels else f"{environment.path}.{one.key}"
        problems.add(place, one.message, one.remedy)
    return None if wrong else spec


def _host_of(
    environment: EnvironmentTable, levels: Mapping[str, Written], here: HostLimits
) -> tuple[HostLimits, Wrong | None]:
    """Smallest resources of the environment's hosts, and the error in the key `host`, if any."""
    name = levels["host"].value if "host" in levels else environment.table.get("host", "")
    if not isinstance(name, str) or not name:
        return here, None
    names = name.split(",")
    if all(one in here.others for one in names):
        several = len(names) > 1 and not environment.kind.spreads
        said = f"an environment of kind {environment.kind.name} is on one host"
        wrong = Wrong("host", said, "name one, or take another kind") if several else None
        if len(set(names)) < len(names):
            wrong = Wrong("host", f"{shown(name)} names a host twice", "name each once")
        return here.least_of(names), wrong
    name = next(one for one in names if one not in here.others)
    known = tuple(here.others)
    remedy = choose(name, known) if known else 'add [[host]] with `name` and `reach = "ssh NODE"`'
    return UNASKED, Wrong("host", f"there is no [[host]] {shown(name)}", remedy)


def _wrong_spread(spec: EnvironmentSpec, kind: Kind) -> Iterator[Wrong]:
    """Error for keys that an environment on several hosts cannot have."""
    if spec.is_spread and spec.tenants > 1 and not kind.on_host:
        said = "an environment on several hosts has one instance on each"
        yield Wrong("tenants", said, "remove it, or name one host")


def _stranger(
    key: str, environment: EnvironmentTable, kinds: Mapping[str, Kind], *, level: bool
) -> Wrong:
    """Error for a key that the kind does not have."""
    own = (*COMMON, *(field.key for field in environment.kind.keys))
    elsewhere = {field.key for kind in kinds.values() for field in kind.keys}
    if key not in elsewhere:
        return Wrong(printable(key), "is not a key of this table", choose(key, own))
    of = f"`{environment.name}`, " if level else ""
    remedy = "remove the factor, or that environment" if level else "remove it"
    return Wrong(key, f"means nothing for {of}kind {environment.kind.name}", remedy)


def _defaults(values: Mapping[str, Any], kind: Kind, host: HostLimits) -> dict[str, int]:
    """Defaults that depend on the host, for keys without a default in the kind's struct."""
    memory = host.memory_bytes if kind.on_host else min(_DEFAULT_MEMORY, host.memory_bytes)
    if host.unknown:
        host, memory = HostLimits(cpus=(0,), memory_bytes=_DEFAULT_MEMORY), _DEFAULT_MEMORY
    every = {"cpus": len(values.get("pin", ())) or host.most_cpus, "memory_bytes": memory}
    return {field.attribute: every[field.attribute] for field in kind.keys if field.required}


def _beyond(values: Mapping[str, Any], kind: Kind, host: HostLimits) -> Iterator[Wrong]:
    """Errors for more than the host or the kind has, and for too little memory to start."""
    cpus, memory, pin = (values.get(name) for name in ("cpus", "memory_bytes", "pin"))
    most = host.most_cpus
    if cpus is not None and cpus > most:
        have = f"this host has {len(host.cpus)}"
        if host.cpu_quota is not None and most < len(host.cpus):
            have = f"a control group around aferir may use {host.cpu_quota:g}"
        remedy = f"ask for 1 to {most}: more would only take turns"
        yield Wrong("cpus", f"asks for {cpus} CPUs, and {have}", remedy)
    else:
        yield from _beyond_kind(cpus or _defaults(values, kind, host).get("cpus", 1), kind)
    if pin is not None:
        yield from _beyond_pin(pin, cpus, host.cpus)
    if memory is not None and memory > host.memory_bytes:
        said = f"asks for {format_size(memory)}, and this host has {host.memory_bytes} bytes"
        yield Wrong("memory", said, f'ask for less, e.g. "{host.memory_bytes // 2**21 or 1} MiB"')
    elif memory is not None and memory < kind.least_memory_bytes:
        least = f'ask for at least "{kind.least_memory_bytes // 2**20} MiB"'
        yield Wrong("memory", f"is too little for kind {kind.name} to start", least)


def _beyond_kind(cpus: int, kind: Kind) -> Iterator[Wrong]:
    if kind.most_cpus is not None and cpus > kind.most_cpus:
        said = f"asks for {cpus} CPUs, and kind {kind.name} has at most {kind.most_cpus}"
        remedy = f"write `cpus = {kind.most_cpus}`, and compare it with environments of as many"
        yield Wrong("cpus", said, remedy)


def _beyond_pin(pin: Sequence[int], cpus: int | None, host: Sequence[int]) -> Iterator[Wrong]:
    strangers = [cpu for cpu in pin if cpu not in host]
    if strangers:
        have = ", ".join(map(str, host))
        yield Wrong("pin", f"this host has no CPU {strangers[0]}", f"choose out of [{have}]")
    elif cpus is not None and len(pin) < cpus:
        said = f"names {len(pin)} CPUs for `cpus = {cpus}`"
        yield Wrong("pin", said, "name at least as many CPUs as the environment has")
