"""Reads hosts that are allocated for the run: `host = "slurm:4"`, `[slurm]`, `[kubernetes]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from aferir.config.fields import Fields, is_table
from aferir.config.hosts import PowerKey, PriceKey, read_hosts, words
from aferir.config.problems import Problems
from aferir.model.checking import joined
from aferir.model.host import AllocationSpec, HostSpec, KubernetesKeys, SlurmKeys
from aferir.model.parameters import text, told

_FACTOR = "environment.host"
_NAME = re.compile(r"(slurm|kubernetes):([1-9][0-9]{0,3})")
_LABEL = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""Regular expression of the names that Kubernetes accepts: labels as in RFC 1123."""


def _label(written: str) -> str:
    """Check a name of an object of Kubernetes. Errors: ValueError if it is invalid."""
    if not _LABEL.fullmatch(written):
        raise ValueError("is no name of Kubernetes: small letters, digits and -, 63 at most")
    return written


_By = Annotated[
    str,
    text(
        "a command that runs another one where the batch system is",
        "ssh login",
        parse=words,
        quoted=True,
        unset="it is here",
    ),
]


class _NodeKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of an allocation's section that apply to each of its nodes."""

    power: PowerKey = None
    price_per_hour: PriceKey = None
    sudo: Annotated[bool, told("whether the agents become root by `sudo -n`")] = False


class SlurmTable(_NodeKeys, frozen=True, kw_only=True):
    """Keys of the `[slurm]` section."""

    by: _By | None = None
    options: (
        Annotated[
            str,
            text(
                "further options of salloc",
                "--partition=compute --time=60",
                parse=words,
                quoted=True,
                unset="none",
            ),
        ]
        | None
    ) = None


class KubernetesTable(_NodeKeys, frozen=True, kw_only=True):
    """Keys of the `[kubernetes]` section."""

    by: _By | None = None
    namespace: Annotated[
        str, text("namespace of the pods", "bench", parse=_label, pattern=f"^{_LABEL.pattern}$")
    ] = "default"
    image: Annotated[
        str, text("image of the pods, which needs a shell and Python", "python:3.11")
    ] = "python:3.11"


_NODE_KEYS = _NodeKeys.__struct_fields__


def with_allocations(
    document: Mapping[str, object], problems: Problems
) -> tuple[dict[str, object], tuple[HostSpec, ...]]:
    """Replace hosts such as `slurm:4` by the names of their nodes; returns all hosts, too."""
    keys: dict[str, SlurmKeys | KubernetesKeys] = {}
    nodes_are: dict[str, dict[str, Any]] = {}
    for name, declared, of in (
        ("slurm", SlurmTable, SlurmKeys),
        ("kubernetes", KubernetesTable, KubernetesKeys),
    ):
        given = _given(document, name, declared, problems)
        nodes_are[name] = {key: given.pop(key) for key in _NODE_KEYS if key in given}
        keys[name] = of(**given)
    hosts: dict[str, HostSpec] = {}

    def spelled(value: object) -> object:
        if isinstance(value, list):
            return joined([spelled(one) for one in value], ",") or value
        found = _NAME.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return value
        kind, nodes = found[1], int(found[2])
        spec = AllocationSpec(name=found[0], nodes=nodes, keys=keys[kind])
        names = [f"{kind}{nodes}-{number}" for number in range(1, nodes + 1)]
        for number, name in enumerate(names, start=1):
            hosts[name] = HostSpec(
                name=name, reach=(), allocated=spec, number=number, **nodes_are[kind]
            )
        return ",".join(names)

    spelled_out = _spelled_out(document, spelled)
    return spelled_out, (*read_hosts(document, problems), *hosts.values())


def _spelled_out(
    document: Mapping[str, object], spelled: Callable[[object], object]
) -> dict[str, object]:
    """Replace `host` of each environment, and levels of the factor `environment.host`."""
    found = dict(document)
    environments, factors = document.get("environment"), document.get("factors")
    if isinstance(environments, list):
        found["environment"] = [
            {**one, "host": spelled(one["host"])} if is_table(one) and "host" in one else one
            for one in environments
        ]
    if is_table(factors) and isinstance(levels := factors.get(_FACTOR), list):
        found["factors"] = {**factors, _FACTOR: [spelled(one) for one in levels]}
    return found


def _given(
    document: Mapping[str, object], section: str, keys: type[msgspec.Struct], problems: Problems
) -> dict[str, Any]:
    table = document.get(section, {})
    if not is_table(table):
        problems.add(section, "is not a table", f"write [{section}] on a line of its own")
        return {}
    read = Fields(table, section, problems).read(keys)
    return {key: value for key, value in read.items() if value is not None}
