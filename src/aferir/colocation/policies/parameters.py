"""What the policy `aferir` can be told: numbers with the range that makes sense for each.

The defaults were found on simulated time; see docs/reference/colocation-policies.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from aferir.errors import UsageError


class Parameters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Shares are of 1, times in seconds."""

    caution: Annotated[float, Meta(ge=0.3, le=1.0)] = 0.87
    """Of the SLA: above it, over ten seconds, what the batch may have at most is lowered ..."""
    calm: Annotated[float, Meta(ge=0.2, le=1.0)] = 0.77
    """... and below it raised; between the two nothing changes (hysteresis)."""
    shrink: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.5
    """Of what the batch uses, at once, where the SLA is broken for certain."""
    lower: Annotated[float, Meta(ge=0.2, le=0.98)] = 0.8
    """Of what the batch may have at most."""
    lower_every_s: Annotated[float, Meta(ge=0.3, le=30.0)] = 3.0
    least_share: Annotated[float, Meta(ge=0.02, le=0.5)] = 0.1
    """Of the machine; less than that is suspended."""
    grow_per_s: Annotated[float, Meta(ge=0.01, le=5.0)] = 0.2
    """Of the machine, back to what the batch may have at most."""
    raise_per_s: Annotated[float, Meta(ge=0.001, le=1.0)] = 0.02
    """Of the machine: how fast that rises."""
    settle_s: Annotated[float, Meta(ge=0.1, le=5.0)] = 0.4
    """At least so long after one shrinking until the next; longer while the window's answers are
    from before it."""
    patience_s: Annotated[float, Meta(ge=0.2, le=10.0)] = 1.0
    """After a shrinking until the batch may grow again."""
    nice: Annotated[int, Meta(ge=-20, le=0)] = -5
    """Of the service without reservations: three times the weight of others, who still answer
    within milliseconds."""
    period: Annotated[float, Meta(ge=0.01, le=0.25)] = 0.1
    """Of reservations, relative to the SLA; up to a quarter where many threads share the room."""
    least_runtime_s: Annotated[float, Meta(ge=0.0005, le=0.02)] = 0.004
    """A tick of a kernel with HZ = 250: a shorter budget is overrun before it is noticed."""
    company: Annotated[float, Meta(ge=0.01, le=1.0)] = 0.33
    """Of what the service leaves of a processor, half of which others are sure of beside a batch of
    everybody's rank: if they use more, the batch gives way to them, and the service goes before
    them only where its SLA asks for it."""
    competition: Annotated[float, Meta(ge=0.01, le=1.0)] = 0.35
    """Of the machine: others' work above it brings reservations."""
    batch_share: Annotated[float, Meta(ge=0.0, le=100.0)] | None = None
    """Of the weight of one process of everybody's rank, what the batch has as a whole beside others
    while the SLA is far; 0: it stands behind everybody. Unless given it is 1, beside others who use
    more than `competition`."""
    nearly_whole: Annotated[float, Meta(ge=0.4, le=0.95)] = 0.7
    """Of a processor: reservations that large are of use even where nobody competes."""
    throttled: Annotated[float, Meta(ge=0.01, le=0.5)] = 0.1
    """Of the SLA: so long a thread with such a reservation waits at most, T - Q. A budget is
    counted at ticks, so a short one is overrun and then owed."""
    hold_s: Annotated[float, Meta(ge=1.0, le=120.0)] = 10.0
    """For so long they stay."""
    helps: Annotated[float, Meta(ge=0.3, le=1.0)] = 0.85
    """Shrinking helps where the quantile falls to less than this part of what it was."""
    innocence_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 60.0
    """For so long the batch is left whole once shrinking it has been seen to help nothing."""

    def __post_init__(self) -> None:
        """Errors: ValueError."""
        if self.calm > self.caution:
            raise ValueError(f"calm ({self.calm:g}) is not above caution ({self.caution:g})")


def parameters(given: Mapping[str, object]) -> Parameters:
    """Errors: UsageError where one is not known or out of its range."""
    try:
        return msgspec.convert(given, Parameters)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(
            f"parameters of the policy aferir: {error}",
            remedy="see docs/reference/colocation-policies.md#parameters",
        ) from None


def ranges() -> dict[str, tuple[float, float]]:
    """Least and most of each that is a real number."""
    found = {}
    for field in msgspec.structs.fields(Parameters):
        kind: Any = msgspec.inspect.type_info(field.type)
        if isinstance(kind, msgspec.inspect.FloatType) and kind.ge is not None is not kind.le:
            found[field.name] = (kind.ge, kind.le)
    return found
