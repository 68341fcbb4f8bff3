"""Parameters of the policy `aferir`, each with the range of sensible values.

The defaults were found by search in simulated time; see docs/reference/colocation-policies.md.
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
    """Parameters of the policy `aferir`; shares are between 0 and 1, times in seconds."""

    caution: Annotated[float, Meta(ge=0.3, le=1.0)] = 0.87
    """Smoothed quantile (10 s) divided by the SLA's bound, above which the batch's CPU cap is
    lowered."""
    calm: Annotated[float, Meta(ge=0.2, le=1.0)] = 0.77
    """Smoothed quantile divided by the SLA's bound, below which the batch's CPU cap is raised.
    Between `calm` and `caution` the cap does not change (hysteresis)."""
    shrink: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.5
    """Factor applied to the batch's measured use, at once, when the SLA is certainly violated."""
    lower: Annotated[float, Meta(ge=0.2, le=0.98)] = 0.8
    """Factor applied to the batch's CPU cap each time it is lowered."""
    lower_every_s: Annotated[float, Meta(ge=0.3, le=30.0)] = 3.0
    least_share: Annotated[float, Meta(ge=0.02, le=0.5)] = 0.1
    """Smallest share of the machine that the batch runs with; below it the batch is suspended."""
    grow_per_s: Annotated[float, Meta(ge=0.01, le=5.0)] = 0.2
    """Growth of the batch's share up to its CPU cap, in shares of the machine per second."""
    raise_per_s: Annotated[float, Meta(ge=0.001, le=1.0)] = 0.02
    """Growth of the batch's CPU cap, in shares of the machine per second."""
    settle_s: Annotated[float, Meta(ge=0.1, le=5.0)] = 0.4
    """Least time in seconds between two cuts of the batch's share. It is longer while the latency
    window still holds answers from before the cut."""
    patience_s: Annotated[float, Meta(ge=0.2, le=10.0)] = 1.0
    """Seconds after a cut until the batch's share may grow again."""
    nice: Annotated[int, Meta(ge=-20, le=0)] = -5
    """Nice value of service threads without a reservation. At -5 they have three times the normal
    weight, and other processes still respond within milliseconds."""
    period: Annotated[float, Meta(ge=0.01, le=0.25)] = 0.1
    """Period of reservations divided by the SLA's bound; up to 0.25 if many threads share the
    CPUs."""
    least_runtime_s: Annotated[float, Meta(ge=0.0005, le=0.02)] = 0.004
    """Least runtime of a reservation in seconds. 4 ms is a tick of a kernel with HZ = 250: a
    shorter budget is overrun before the kernel notices."""
    company: Annotated[float, Meta(ge=0.01, le=1.0)] = 0.33
    """CPUs used by other processes, divided by the share of the machine that the service leaves,
    above which the batch yields to them and the service outranks them only at its SLA. The default
    is below 0.5, which is what a batch of normal weight would leave them of one CPU."""
    competition: Annotated[float, Meta(ge=0.01, le=1.0)] = 0.35
    """Share of the machine used by other processes above which critical threads get
    reservations."""
    batch_share: Annotated[float, Meta(ge=0.0, le=100.0)] | None = None
    """Weight of the whole batch beside other processes while latency is far below the SLA, as a
    multiple of a normal process's weight. 0: the batch yields to everything. If unset, it is 1
    beside other processes that use more than `competition`."""
    nearly_whole: Annotated[float, Meta(ge=0.4, le=0.95)] = 0.7
    """Share of a CPU from which on reservations are useful even if no other process competes."""
    throttled: Annotated[float, Meta(ge=0.01, le=0.5)] = 0.1
    """Longest time, divided by the SLA's bound, for which a thread with a nearly whole CPU is
    throttled (T - Q). Budgets are charged at ticks, so a short one would be overrun and then
    deducted."""
    hold_s: Annotated[float, Meta(ge=1.0, le=120.0)] = 10.0
    """Seconds for which reservations stay after their cause was last seen."""
    helps: Annotated[float, Meta(ge=0.3, le=1.0)] = 0.85
    """Shrinking the batch counts as effective if it lowers the quantile to less than this part."""
    innocence_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 60.0
    """Seconds for which the batch is left unlimited after shrinking it has proved ineffective."""

    def __post_init__(self) -> None:
        """Raises ValueError if `calm` is above `caution`."""
        if self.calm > self.caution:
            raise ValueError(f"calm ({self.calm:g}) is not above caution ({self.caution:g})")


def parameters(given: Mapping[str, object]) -> Parameters:
    """Parameters from their names and values.

    Errors: UsageError if a name is unknown or a value out of range.
    """
    try:
        return msgspec.convert(given, Parameters)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(
            f"parameters of the policy aferir: {error}",
            remedy="see docs/reference/colocation-policies.md#parameters",
        ) from None


def ranges() -> dict[str, tuple[float, float]]:
    """Lower and upper bound of each parameter that is a real number."""
    found = {}
    for field in msgspec.structs.fields(Parameters):
        kind: Any = msgspec.inspect.type_info(field.type)
        if isinstance(kind, msgspec.inspect.FloatType) and kind.ge is not None is not kind.le:
            found[field.name] = (kind.ge, kind.le)
    return found
