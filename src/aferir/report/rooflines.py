"""Places programs under the rooflines that the same run measured."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.report.model import CellResult, Roofline, UnderRoof
from aferir.statistics.roofline import Roof

PEAK = "peak_flops"
BANDWIDTH = "triad_bps"
RATE = "modelled_flops"
INTENSITY = "modelled_intensity"


def rooflines(cells: Sequence[CellResult]) -> tuple[Roofline, ...]:
    """One roofline for each environment and combination of factors with both limits and a program.

    Figures are medians of the repetitions. Cells with a factor that the limits lack, such as
    another program's parameter, are left out, so that compared programs ran with the same threads.
    """
    found = []
    for environment in dict.fromkeys(cell.environment for cell in cells):
        own = [cell for cell in cells if cell.environment == environment]
        for levels in _distinct(own):
            peers = [cell for cell in own if cell.factors == levels.factors]
            roof = _roof(peers)
            places = tuple(place for cell in peers for place in _place(cell, roof))
            if roof is not None and places:
                found.append(
                    Roofline(
                        environment=environment,
                        emulated=levels.emulated,
                        label=", ".join(f"{k}={v}" for k, v in levels.factors.items()),
                        peak_flops=roof.peak,
                        bandwidth_bps=roof.bandwidth,
                        programs=places,
                    )
                )
    return tuple(found)


def _distinct(cells: Sequence[CellResult]) -> list[CellResult]:
    return list({tuple(cell.factors.items()): cell for cell in reversed(cells)}.values())[::-1]


def _roof(cells: Sequence[CellResult]) -> Roof | None:
    peaks = [value for cell in cells if (value := _median(cell, PEAK)) is not None]
    bandwidths = [value for cell in cells if (value := _median(cell, BANDWIDTH)) is not None]
    return Roof(max(peaks), max(bandwidths)) if peaks and bandwidths else None


def _place(cell: CellResult, roof: Roof | None) -> list[UnderRoof]:
    rate, intensity = _median(cell, RATE), _median(cell, INTENSITY)
    if roof is None or rate is None or intensity is None:
        return []
    place = roof.place(intensity, rate)
    return [
        UnderRoof(
            workload=cell.workload,
            n=cell.duration.n,
            flops=rate,
            intensity=intensity,
            roof_flops=place.roof,
            limit=place.limit,
            share=place.share,
        )
    ]


def _median(cell: CellResult, metric: str) -> float | None:
    return next((m.summary.median for m in cell.metrics if m.metric == metric), None)
