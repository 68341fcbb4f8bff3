"""The plain values of a specification, by which environments and runs are told apart."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.model.plan import Parameter


def plain_values(specification: Mapping[str, object], prefix: str = "") -> dict[str, Parameter]:
    """Fields of a specification that have one plain value, without its name.

    Those of a table within it have its key before them: `cloud.provider`.
    """
    found: dict[str, Parameter] = {}
    for key, value in specification.items():
        if isinstance(value, Mapping):
            found |= plain_values(value, f"{prefix}{key}.")
        elif isinstance(value, Parameter) and key != "name":
            found[prefix + key] = value
    return found
