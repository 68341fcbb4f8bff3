"""Policies by name: pure functions from the observed state and a memory to settings.

`aferir` is the recommended one. The others are baselines that it has to beat: the published rule,
static settings of the kernel, and the rules of published systems, all in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from aferir.colocation.policies import fixed, resources
from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.edfcoaloc import edf_alone, edfcoaloc, edfcoaloc_limit
from aferir.colocation.policies.heracles import heracles
from aferir.colocation.policies.koordinator import koordinator
from aferir.colocation.policies.parameters import parameters
from aferir.colocation.policies.parties import parties
from aferir.colocation.policies.pid import pid
from aferir.colocation.settings import Policy
from aferir.errors import UsageError

POLICIES: Mapping[str, Callable[[], Policy[Any]]] = MappingProxyType(
    {
        "default": fixed.default,
        "alone": fixed.alone,
        "service-nice": fixed.service_nice,
        "batch-nice": fixed.batch_nice,
        "batch": fixed.batch,
        "idle": fixed.idle,
        "weight": fixed.weight,
        "cpu-idle": fixed.cpu_idle,
        "quota": fixed.quota,
        "fifo": fixed.fifo,
        "cpuset": fixed.cpuset,
        "deadline": fixed.deadline,
        "deadline-reclaim": fixed.deadline_reclaim,
        "edf-alone": edf_alone,
        "edfcoaloc": edfcoaloc,
        "edfcoaloc-limit": edfcoaloc_limit,
        "pid": pid,
        "parties": parties,
        "koordinator": koordinator,
        "heracles": heracles,
        "aferir": aferir,
    }
)
"""Functions that return each policy with its default parameters."""


def make(name: str, given: Mapping[str, float]) -> Policy[Any]:
    """Return the policy called `name` with the given parameters.

    Errors: UsageError if there is no such policy or it has no such parameters.
    """
    if name not in POLICIES:
        raise UsageError(f"there is no policy `{name}`", remedy=f"one of: {', '.join(POLICIES)}")
    if given and name != "aferir":
        raise UsageError(
            f"the policy `{name}` has no parameters", remedy="leave them out, or policy = 'aferir'"
        )
    policy = aferir(parameters(given)) if given else POLICIES[name]()
    return resources.widened(policy) if name == "aferir" else policy
