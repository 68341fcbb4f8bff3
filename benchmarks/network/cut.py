"""Cut links while they carry a transfer."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from aferir.aggregation.measure import Curve, measure
from aferir.aggregation.places import Place
from aferir.aggregation.traffic import Task
from aferir.model.bench import Figure
from aferir.model.network import (
    Event,
    Method,
    Network,
    Traffic,
    one_after_another,
)

_CUT_S, _RESTORED_S, _CUT_RUN_S = 1.0, 2.5, 7.0
_CARRIES = 0.1
"""Share of the highest rate of any link; a link below it only carries acknowledgements or probes.
"""


def cut(where: Place, method: Method, name: str, rate_bits: int, runs: int) -> Figure:
    """Cut both links in turn during a transfer; judge the longest time without a byte."""
    task = Task(
        network=Network(links=2, rate_bits=rate_bits),
        method=method,
        traffic=Traffic(seconds=_CUT_RUN_S),
        events=one_after_another(2, _CUT_S, _RESTORED_S),
    )
    found = [measure(where, task) for _ in range(runs)]  # an error where a byte is lost for good
    gaps = [result.gap_s for result in found]
    lost = median(result.lost_bytes for result in found)
    hit = min(links_hit(result.link_curves, task.events) for result in found)
    return Figure(
        name=f"aggregation.cut.{name}_gap_s",
        value=median(gaps),
        unit="s",
        n=runs,
        target="the transfer goes on and every byte arrives",
        holds=hit > 0,
        note=f"both links cut in turn for {_RESTORED_S - _CUT_S:g} s, {hit} of them or more while "
        f"it carried the transfer; longest time without a byte, up to {max(gaps):.3f} s; "
        f"{lost:.0f} bytes sent again for good reason",
    )


def links_hit(curves: Sequence[Curve], events: Sequence[Event]) -> int:
    """Count the links that were cut while they carried some of the traffic."""
    carried = {curve.name: curve for curve in curves}
    highest = max((bps for curve in curves for bps in curve.bps), default=0.0)
    found = 0
    for event in events:
        curve = carried.get(f"eth{event.link}")
        if curve is not None and not event.up:
            before = zip(curve.at_s, curve.bps, strict=True)
            rates = [bps for at_s, bps in before if event.at_s - 0.6 <= at_s < event.at_s - 0.1]
            found += bool(rates) and max(rates) > _CARRIES * highest
    return found
