"""Selects host CPUs for an instance, and limits them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from aferir.errors import MissingError
from aferir.model.plan import EnvironmentSpec


def host_cpus() -> tuple[int, ...]:
    """CPUs that this process may use, as restricted by taskset(1) or a container."""
    return tuple(sorted(os.sched_getaffinity(0)))


def cpu_set(spec: EnvironmentSpec, host: Sequence[int]) -> tuple[int, ...]:
    """CPUs for an instance that shares the host's kernel: the first `cpus` of the permitted ones.

    A CPU set is used instead of a quota over all CPUs: `nproc` and OpenMP count the set, and a
    program that starts one thread for each CPU should find as many as specified. Errors:
    MissingError if the host has too few.
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
    """CPUs of `spec.pin`; empty if it is not pinned.

    Errors: MissingError if one of them is not permitted.
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
    """CPU time per second that the instance may use, in s; None: limited by its CPUs alone."""
    return None if spec.cpu_quota is None else spec.cpu_quota * spec.cpus
