"""Which host CPUs an instance gets, and how much of them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from aferir.errors import MissingError
from aferir.model.plan import EnvironmentSpec


def host_cpus() -> tuple[int, ...]:
    """CPUs that this process may use: what taskset(1) or a container left of the machine's."""
    return tuple(sorted(os.sched_getaffinity(0)))


def cpu_set(spec: EnvironmentSpec, host: Sequence[int]) -> tuple[int, ...]:
    """CPUs for an instance that shares the host's kernel: the first `cpus` of those it may use.

    A set, and no quota of `cpus` CPUs over all of them: `nproc` and OpenMP count the set, and
    a program that starts a thread for each CPU is to find as many as it was promised.

    Errors: MissingError where the host has not got them.
    """
    pinned(spec, host)
    chosen = tuple(spec.pin or host)[: spec.cpus]
    if len(chosen) < spec.cpus:
        raise MissingError(
            f"environment `{spec.name}` asks for {spec.cpus} CPUs and may use {len(chosen)}",
            remedy=f"set its `cpus` to {len(chosen)} or less",
        )
    return chosen


def pinned(spec: EnvironmentSpec, host: Sequence[int]) -> tuple[int, ...]:
    """The CPUs of `spec.pin`, empty where it is not pinned.

    Errors: MissingError where one of them is not ours to use.
    """
    strangers = sorted(set(spec.pin) - set(host))
    if strangers:
        raise MissingError(
            f"environment `{spec.name}` is pinned to CPU {', '.join(map(str, strangers))}, "
            f"and this process may use {', '.join(map(str, host))}",
            remedy="change its `pin`, or widen the affinity of this process (taskset(1))",
        )
    return spec.pin


def cpu_limit(spec: EnvironmentSpec) -> float | None:
    """CPU seconds per second that the instance may use; None: no limit beyond its CPUs."""
    return None if spec.cpu_quota is None else spec.cpu_quota * spec.cpus
