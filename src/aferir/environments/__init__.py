"""Where programs run: one file per kind of environment behind the Protocol in `base`."""

from __future__ import annotations

from collections.abc import Callable

from aferir.environments.base import Environment
from aferir.environments.cleaning import clean
from aferir.environments.clouds import Clouds
from aferir.environments.container import Container
from aferir.environments.image import Progress, silent
from aferir.environments.native import Native
from aferir.environments.vm import VirtualMachine
from aferir.model.plan import EnvironmentKind

__all__ = ["KINDS", "by_kind", "clean"]

_MAKERS: dict[EnvironmentKind, Callable[[Progress], Environment]] = {
    "native": lambda _: Native(),
    "container": Container,
    "vm": VirtualMachine,
    "cloud": lambda _: Clouds(),
}
KINDS: tuple[EnvironmentKind, ...] = tuple(_MAKERS)


def by_kind(kind: EnvironmentKind, progress: Progress = silent) -> Environment:
    """The environment of that kind; `progress` is told in words what takes long."""
    return _MAKERS[kind](progress)
