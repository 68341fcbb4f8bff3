"""Policies by name: pure functions from what is seen to what is set.

`aferir` is the one to use. The others are what it has to beat: the published rule, plain settings
of the kernel, and the rules of published systems, all in one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from aferir.colocation.policies import fixed
from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.edfcoaloc import edfcoaloc
from aferir.colocation.policies.koordinator import koordinator
from aferir.colocation.policies.parties import parties
from aferir.colocation.policies.pid import pid
from aferir.colocation.settings import Decide

POLICIES: Mapping[str, Callable[[], Decide]] = MappingProxyType(
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
        "edfcoaloc": edfcoaloc,
        "pid": pid,
        "parties": parties,
        "koordinator": koordinator,
        "aferir": aferir,
    }
)
"""Each makes its policy with the parameters that it is described with."""
