"""Reads environments from one line each, e.g. `podman image=debian:12 network=none`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence

from aferir.environments.base import Kind
from aferir.errors import UsageError
from aferir.model.words import choose

ALIASES: Mapping[str, Mapping[str, object]] = {
    "lxc": {"kind": "container"},
    "qemu": {"kind": "vm"},
    "podman": {"kind": "oci", "engine": "podman"},
    "docker": {"kind": "oci", "engine": "docker"},
    "gvisor": {"kind": "oci", "engine": "podman", "runtime": "runsc"},
}
"""Short names for kinds of environment with some of their keys."""
USUAL = ("native", "container", "podman", "gvisor")
"""Default environments of `aferir measure`: those that start within a second. Virtual machines must
be named.
"""


def environment_tables(written: Sequence[str], kinds: Collection[str]) -> list[dict[str, object]]:
    """`[[environment]]` tables of several lines, each with a unique name.

    Errors: UsageError if a line names no kind, or has a word that is not KEY=VALUE.
    """
    tables: list[dict[str, object]] = []
    for line in written:
        table = _table(line, kinds)
        names = [one["name"] for one in tables]
        base = str(table["name"])
        number = 2
        while table["name"] in names:
            table["name"], number = f"{base}-{number}", number + 1
        tables.append(table)
    return tables


def alike(
    tables: Sequence[Mapping[str, object]], kinds: Mapping[str, Kind]
) -> list[dict[str, object]]:
    """Set tables without CPUs to the smallest CPU limit that any of their kinds has."""
    most = [kinds[str(table["kind"])].most_cpus for table in tables]
    fewest = min((cpus for cpus in most if cpus is not None), default=None)
    return [
        dict(table)
        if fewest is None or "cpus" in table or "pin" in table
        else {**table, "cpus": fewest}
        for table in tables
    ]


def usual(kinds: Collection[str]) -> list[str]:
    """Default environments that this installation has."""
    return [name for name in USUAL if name in kinds or _kind(name) in kinds]


def _kind(name: str) -> object:
    return ALIASES.get(name, {}).get("kind", name)


def _table(line: str, kinds: Collection[str]) -> dict[str, object]:
    try:
        name, *rest = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--in {line!r} is not quoted as for a shell: {error}") from None
    if name not in kinds and _kind(name) not in kinds:
        known = sorted({*kinds, *(one for one in ALIASES if _kind(one) in kinds)})
        raise UsageError(f"there is no environment `{name}`", remedy=choose(name, known))
    own: Mapping[str, object] = {"kind": name} if name in kinds else ALIASES[name]
    table: dict[str, object] = {"name": name, **own}
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(
                f"--in {line!r}: {word!r} is not KEY=VALUE",
                remedy="write e.g. --in 'podman image=debian:12 network=none'",
            )
        table[key] = _read(value)
    return table


def _read(text: str) -> object:
    """JSON value of a word if it is a number, a truth value or a list; else the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float | list) else text
