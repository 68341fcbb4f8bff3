"""Dutra 2015, Table 5.8, simulated from Table 5.5: how much of it latency alone explains."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import msgspec
import numpy as np

from aferir.elastic.front import Settings
from aferir.elastic.simulate import Load, Result, gamma, simulate

VIDEO_S = 1800.0
RUNS = 10
_LATENCIES = "allocation_latency.csv"
_BLOCKED = "vod_blocking.csv"
_STEPS = 14
_LONGEST = 8.0
"""Longest latency that is tried, in multiples of the patience."""


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
    """Simulation of one cell, with as many runs as published."""

    cell: Cell
    blocked: tuple[int, ...]
    """Blocked clients of each run."""
    blocked_percent: float
    inside: bool | None
    """Whether the mean is between the published best and worst; None if those were not
    published."""
    needed_latency_s: float | None
    """Mean latency that would block as many clients as published, with the same relative variation;
    None if the simulated mean is within the published range, or no latency blocks as many."""


def read(folder: Path) -> tuple[Cell, ...]:
    """The ten cells. Errors: OSError; KeyError or ValueError if a file lacks a column."""
    latencies = {(row["iaas"], row["hypervisor"]): row for row in _rows(folder / _LATENCIES)}
    return tuple(
        _cell(row, latencies[row["iaas"], row["hypervisor"]]) for row in _rows(folder / _BLOCKED)
    )


def reproduce(cell: Cell, seed: int) -> Reproduced:
    """Simulate a cell ten times; if it differs, find the latency that would explain the results."""
    runs = _runs(cell, cell.latency_mean_s, seed)
    blocked = tuple(run.books.blocked for run in runs)
    inside = None
    if cell.blocked_best is not None and cell.blocked_worst is not None:
        inside = cell.blocked_best <= mean(blocked) <= cell.blocked_worst
    return Reproduced(
        cell=cell,
        blocked=blocked,
        blocked_percent=mean(run.blocked_percent for run in runs),
        inside=inside,
        needed_latency_s=None if inside else _needed(cell, seed),
    )


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


def _runs(cell: Cell, latency_s: float, seed: int) -> Sequence[Result]:
    settings = Settings(clients_per_node=cell.clients_per_node, patience_s=cell.patience_s)
    variation = cell.latency_sd_s / cell.latency_mean_s
    results = []
    for run in range(RUNS):
        rng = np.random.default_rng([seed, run])
        draw = gamma(latency_s, variation * latency_s, rng)
        results.append(simulate(settings, cell.load, rng, draw))
    return results


def _needed(cell: Cell, seed: int) -> float | None:
    """Bisect for the latency: longer ones block more clients, as the seed is always the same."""

    def blocked(latency_s: float) -> float:
        return mean(run.blocked_percent for run in _runs(cell, latency_s, seed))

    low, high = 0.0, _LONGEST * cell.patience_s
    if blocked(high) < cell.blocked_percent:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if blocked(middle) < cell.blocked_percent:
            low = middle
        else:
            high = middle
    return high
