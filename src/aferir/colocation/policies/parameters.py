"""Parameters of the policy `aferir`: all of its constants, each with a range of sensible values.

Everything else follows from them, the SLA, the control period and the number of CPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from aferir.errors import UsageError

GONE: Mapping[str, str] = MappingProxyType(
    {
        "calm": "it follows from caution",
        "lower": "it follows from shrink",
        "lower_every_s": "it follows from patience_s",
        "raise_per_s": "it follows from grow_per_s, patience_s and hold_s",
        "settle_s": "it follows from the control period and the latency window",
        "period": "it follows from near",
        "throttled": "it follows from near",
        "least_runtime_s": "it is a tick of the kernel",
        "competition": "company counts for both",
        "nice": "it is 0, as the batch yields without it",
        "helps": "it is caution",
        "nearly_whole": "it follows from headroom",
        "innocence_s": "it follows from hold_s and patience_s",
    }
)
"""Parameters of earlier versions that no longer have an effect, each with what now decides instead.
"""


class Parameters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Parameters of the policy `aferir`; shares are between 0 and 1, times in seconds."""

    near: Annotated[float, Meta(ge=0.05, le=0.9)] = 0.4
    """Quantile divided by the SLA's bound, above which the batch loses every advantage that
    increases the service's latency. Below half of it, the batch may gain an advantage.
    """
    caution: Annotated[float, Meta(ge=0.3, le=1.0)] = 0.87
    """Quantile divided by the SLA's bound and smoothed over half of `hold_s`, above which the
    service is considered late.
    """
    shrink: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.5
    """Factor applied to the batch's measured use, at once, when the SLA is certainly violated."""
    grow_per_s: Annotated[float, Meta(ge=0.01, le=5.0)] = 0.2
    """Growth of the batch's share after a cut, in shares of the machine per second."""
    least_share: Annotated[float, Meta(ge=0.02, le=0.5)] = 0.08
    """Share of a CPU, or of the machine, that counts as nothing: a batch limited to less is
    suspended, and other processes that use less are considered the system's own housekeeping.
    """
    patience_s: Annotated[float, Meta(ge=0.2, le=10.0)] = 1.0
    """Seconds to wait after a change before its effect is judged."""
    hold_s: Annotated[float, Meta(ge=1.0, le=120.0)] = 10.0
    """Seconds for which a protection stays after its cause was last seen; also the first time for
    which a mode that did harm is barred.
    """
    company: Annotated[float, Meta(ge=0.01, le=1.0)] = 0.33
    """Threshold for the CPU use of other processes. They count as company if their use, divided by
    the share of the machine that the service leaves, is above it; they compete if their use,
    divided by the number of all CPUs, is above it. The default is below 0.5, the part of one CPU
    that a batch of normal weight would leave them.
    """
    headroom: Annotated[float, Meta(ge=0.05, le=0.5)] = 0.3
    """Share of CPUs, or of a thread pool, that must be free before the batch gains an advantage; to
    keep the advantage, half of this share must be free.
    """
    responsive_s: Annotated[float, Meta(ge=0.004, le=0.1)] = 0.025
    """Longest time in seconds for which an interactive user may be kept from a CPU."""
    stretch: Annotated[float, Meta(ge=4.0, le=64.0)] = 16.0
    """Longest time for which all CPUs are busy with requests, divided by the mean of such times:
    the longest answers of a shell beside SCHED_FIFO were 13 to 26 times the mean.
    """
    batch_share: Annotated[float, Meta(ge=0.0, le=100.0)] | None = None
    """Weight of the whole batch beside other processes while latency is far below the SLA, as a
    multiple of a normal process's weight. 0: the batch yields to everything. If unset, it is 1
    beside other processes that compete."""

    def __post_init__(self) -> None:
        """Raise ValueError if `near` is above `caution`."""
        if self.near > self.caution:
            raise ValueError(f"near ({self.near:g}) is not above caution ({self.caution:g})")

    @property
    def far(self) -> float:
        """Ratio of the quantile to the SLA's bound below which the batch may be preferred."""
        return self.near / 2

    @property
    def calm(self) -> float:
        """Quantile divided by the bound, below which a share that was lowered may rise.

        It is as far below `caution` as the SLA is above it.
        """
        return 2 * self.caution - 1

    @property
    def free(self) -> float:
        """Used share of CPUs or of a pool, below which the batch may gain an advantage."""
        return 1 - self.headroom

    @property
    def full(self) -> float:
        """Used share of CPUs or of a pool, above which the batch loses an advantage."""
        return 1 - self.headroom / 2

    @property
    def longest_bar_s(self) -> float:
        """Longest time in seconds for which a mode is barred.

        Harm is noticed after `patience_s`. So even if the mode does harm after every bar, it does
        so for only about (patience/hold)^2 of the time, 1 % by default.
        """
        return self.hold_s**2 / self.patience_s


def parameters(given: Mapping[str, object]) -> Parameters:
    """Parse parameters from their names and values; those of `GONE` are left out.

    Errors: UsageError if a name is unknown or a value out of range.
    """
    kept = {name: value for name, value in given.items() if name not in GONE}
    try:
        return msgspec.convert(kept, Parameters)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(
            f"parameters of the policy aferir: {error}",
            remedy="see docs/reference/colocation-policies.md#parameters",
        ) from None


def gone(given: Mapping[str, object]) -> list[str]:
    """Warnings about parameters in the file that no longer have an effect."""
    return [f"the parameter {name} has no effect: {GONE[name]}" for name in given if name in GONE]


def ranges() -> dict[str, tuple[float, float]]:
    """Lower and upper bound of each parameter that is a real number."""
    found = {}
    for field in msgspec.structs.fields(Parameters):
        kind: Any = msgspec.inspect.type_info(field.type)
        if isinstance(kind, msgspec.inspect.FloatType) and kind.ge is not None is not kind.le:
            found[field.name] = (kind.ge, kind.le)
    return found
