"""Environments and programs that other installed packages add, by entry points.

A package declares each in its `pyproject.toml` (see packaging.python.org):

    [project.entry-points."aferir.environments"]
    podman = "my_package.podman:PODMAN"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeGuard, TypeVar

from aferir.errors import UsageError

_Thing = TypeVar("_Thing")


def with_added(
    own: Mapping[str, _Thing],
    group: str,
    is_one: Callable[[object], TypeGuard[_Thing]],
    name_of: Callable[[_Thing], str],
) -> dict[str, _Thing]:
    """Return `own` and what installed packages declare in the entry points `group`, all by name.

    An entry point must have the name of what it refers to. Packages are imported only here, so that
    groups which nobody asks for cost no time. Errors: UsageError naming the package, if one cannot
    be imported or is not what it should be.
    """
    found = dict(own)
    for point in sorted(entry_points(group=group), key=lambda one: one.name):
        try:
            thing = point.load()
        except Exception as error:
            raise _wrong(point, f"cannot be imported: {type(error).__name__}: {error}") from error
        if not is_one(thing):
            raise _wrong(point, f"is {type(thing).__name__}, which has no place in {group}")
        if name_of(thing) != point.name:
            raise _wrong(point, f"calls itself `{name_of(thing)}`")
        if point.name in found:
            whose = "aferir" if point.name in own else "another package"
            raise _wrong(point, f"{whose} has too")
        found[point.name] = thing
    return found


def _wrong(point: EntryPoint, said: str) -> UsageError:
    package = point.dist.name if point.dist is not None else "unknown"
    return UsageError(
        f"the installed package `{package}` adds `{point.name}` to {point.group} as "
        f"{point.value}, which {said}",
        remedy=f"mend that package, or remove it: pip uninstall {package}",
    )
