"""All kinds of environments: those of a single instance, and clusters, which are made of these."""

from __future__ import annotations

from collections.abc import Sequence

from aferir import journal
from aferir.cluster import manager
from aferir.cluster.instance import Cluster
from aferir.environments import by_kind as single
from aferir.environments import cleaning
from aferir.environments.base import Environment
from aferir.environments.image import Progress, silent
from aferir.model.plan import EnvironmentKind


def by_kind(kind: EnvironmentKind, progress: Progress = silent) -> Environment:
    """The environment of that kind; `progress` is told in words what takes long."""
    return Cluster(progress) if kind == "cluster" else single(kind, progress)


def clean(entries: Sequence[journal.Entry]) -> list[str]:
    """Undo what killed runs left, clusters first; what could not be undone, a sentence each."""
    return manager.clean(entries) + cleaning.clean(entries)
