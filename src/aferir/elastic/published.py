"""Simulates Dutra 2015, Table 5.8, from the latencies of its Table 5.5.

Table 5.5 was measured one allocation at a time. Under load several are under way and delay one
another: their images come from one store over one link, and each of the eight hosts carries out one
allocation at a time. How long an allocation uses the store was not published. It is fitted for each
hypervisor on one of the ten cells; the eight others are predictions.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import msgspec
import numpy as np

from aferir.elastic.contention import Contention
from aferir.elastic.front import Settings
from aferir.elastic.simulate import Load, Result, gamma, simulate

VIDEO_S = 1800.0
RUNS = 50
"""Simulated runs of a cell. Ten were published, but ten are too few: for one cell (OpenNebula, KVM,
200 clients), whose published best is 10, three seeds gave means of 8.9, 12.4 and 14.2 blocked
clients.
"""
_LATENCIES = "allocation_latency.csv"
_BLOCKED = "vod_blocking.csv"
HOSTS = 8
"""Number of hosts of the environment (Dutra 2015, 5.1)."""
FITTED = {"kvm": ("openstack", 120.0, 200), "xen": ("openstack", 120.0, 400)}
"""Manager, patience in seconds and clients of the cell that each hypervisor is fitted on."""
_STEPS = 10
"""Bisections of a fit: the seconds at the store are known to a thousandth of the latency (< 0.1 s).
"""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One published row, and the latency of its environment; times in seconds."""

    iaas: str
    hypervisor: str
    patience_s: float
    load: Load
    clients_per_node: int
    latency_mean_s: float
    """Mean of Table 5.5, plus the network configuration after the boot if there was one."""
    latency_sd_s: float
    blocked_percent: float
    blocked_best: int | None
    """Blocked clients in the best of ten runs; None: not published."""
    blocked_worst: int | None


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """Simulation of one cell, with and without allocations delaying one another."""

    cell: Cell
    alone: tuple[int, ...]
    """Number of blocked clients in each run without contention between allocations."""
    blocked: tuple[int, ...]
    """Number of blocked clients in each run with contention between allocations."""
    blocked_percent: float
    """Mean percentage of blocked clients with contention between allocations."""
    fitted: bool
    """Whether `store_s`, the time an allocation uses the image store, was fitted on this cell
    (else: predicted).
    """

    @property
    def inside(self) -> bool | None:
        """Whether the mean is between the published best and worst; None if unpublished."""
        return self._within(self.blocked)

    @property
    def inside_alone(self) -> bool | None:
        """Whether the mean without contention is in the published range; None if unpublished."""
        return self._within(self.alone)

    def _within(self, blocked: tuple[int, ...]) -> bool | None:
        best, worst = self.cell.blocked_best, self.cell.blocked_worst
        return None if best is None or worst is None else best <= mean(blocked) <= worst


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a fit: how long an allocation with one hypervisor uses the image store."""

    cell: Cell
    """Cell whose number of blocked clients the simulation reproduces with `store_s`."""
    store_s: float
    """Seconds for which an allocation without others uses the image store and its link."""


def read(folder: Path) -> tuple[Cell, ...]:
    """The ten cells. Errors: OSError; KeyError or ValueError if a file lacks a column."""
    latencies = {(row["iaas"], row["hypervisor"]): row for row in _rows(folder / _LATENCIES)}
    return tuple(
        _cell(row, latencies[row["iaas"], row["hypervisor"]]) for row in _rows(folder / _BLOCKED)
    )


def fit(cells: Sequence[Cell], seed: int) -> dict[str, Fit]:
    """Fit the seconds at the image store, for each hypervisor on the one cell of `FITTED`."""
    return {
        cell.hypervisor: Fit(cell=cell, store_s=_fitted(cell, seed))
        for cell in cells
        if _is_fitted(cell)
    }


def reproduce(cell: Cell, fits: Mapping[str, Fit], seed: int) -> Reproduced:
    """Simulate a cell `RUNS` times, without and with allocations that delay one another."""
    disturbed = _runs(cell, _shared(cell, fits[cell.hypervisor].store_s), seed)
    alone = _runs(cell, Contention(), seed)
    return Reproduced(
        cell=cell,
        alone=tuple(run.books.blocked for run in alone),
        blocked=tuple(run.books.blocked for run in disturbed),
        blocked_percent=mean(run.blocked_percent for run in disturbed),
        fitted=_is_fitted(cell),
    )


def _is_fitted(cell: Cell) -> bool:
    return FITTED[cell.hypervisor] == (cell.iaas, cell.patience_s, cell.load.clients)


def _shared(cell: Cell, store_s: float) -> Contention:
    return Contention(hosts=HOSTS, store_share=min(1.0, store_s / cell.latency_mean_s))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _cell(row: dict[str, str], latency: dict[str, str]) -> Cell:
    extra = float(latency["extra_network_context_s"])
    return Cell(
        iaas=row["iaas"],
        hypervisor=row["hypervisor"],
        patience_s=float(row["patience_s"]),
        load=Load(
            clients=int(row["clients"]),
            interarrival_s=float(row["mean_interarrival_s"]),
            video_s=VIDEO_S,
        ),
        clients_per_node=int(row["clients_per_instance"]),
        latency_mean_s=float(latency["mean_s"]) + extra,
        latency_sd_s=float(latency["sd_s"]),
        blocked_percent=float(row["PcBl_percent"]),
        blocked_best=int(row["blocked_best"]) if row["blocked_best"] else None,
        blocked_worst=int(row["blocked_worst"]) if row["blocked_worst"] else None,
    )


def course(cell: Cell, fits: Mapping[str, Fit], seed: int, run: int) -> Result:
    """Simulate one of the runs with contention again, and return its course over time."""
    return _run(cell, _shared(cell, fits[cell.hypervisor].store_s), seed, run)


def _runs(cell: Cell, shared: Contention, seed: int) -> Sequence[Result]:
    return [_run(cell, shared, seed, run) for run in range(RUNS)]


def _run(cell: Cell, shared: Contention, seed: int, run: int) -> Result:
    # Each request that finds no room has an instance allocated (Dutra 2015, Figure 4.4).
    settings = Settings(
        clients_per_node=cell.clients_per_node, patience_s=cell.patience_s, waiting="each"
    )
    rng = np.random.default_rng([seed, run])
    draw = gamma(cell.latency_mean_s, cell.latency_sd_s, rng)
    return simulate(settings, cell.load, rng, draw, shared=shared)


def _fitted(cell: Cell, seed: int) -> float:
    """Seconds at the image store with which the published share is blocked, by bisection."""
    low, high = 0.0, cell.latency_mean_s
    for _ in range(_STEPS):
        middle = (low + high) / 2
        runs = _runs(cell, _shared(cell, middle), seed)
        if mean(run.blocked_percent for run in runs) < cell.blocked_percent:
            low = middle
        else:
            high = middle
    return high
