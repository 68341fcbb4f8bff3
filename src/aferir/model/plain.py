"""Flattens specifications to plain values, by which environments and runs are told apart."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.model.plan import Parameter


def plain_values(specification: Mapping[str, object], prefix: str = "") -> dict[str, Parameter]:
    """Returns texts, numbers and truth values by key, except `name`.

    Keys of nested tables are joined with a dot: `cloud.provider`.
    """
    found: dict[str, Parameter] = {}
    for key, value in specification.items():
        if isinstance(value, Mapping):
            found |= plain_values(value, f"{prefix}{key}.")
        elif isinstance(value, Parameter) and key != "name":
            found[prefix + key] = value
    return found
